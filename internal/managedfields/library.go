package managedfields

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/warning"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// libraryManager is the Manager of k8s.io/apimachinery. The library cannot be interrupted: it ends early only where it
// asks for types or conversions. So its work is limited before it is called.
// See docs/upstream.md, "Managed fields cannot be interrupted".
type libraryManager struct{ config Config }

var _ Manager = libraryManager{}

// NewLibrary returns a Manager for an endpoint of custom resources that only calls the library.
func NewLibrary(c Config) (Manager, error) {
	m := libraryManager{c}
	_, err := m.fields(context.Background())
	return m, err
}

// fields returns the library's field manager for one call.
func (m libraryManager) fields(ctx context.Context) (*managedfields.FieldManager, error) {
	c := m.config
	return managedfields.NewDefaultCRDFieldManager(typesUntil{ctx, boundedErrors{c.Types}},
		convertorUntil{c.Convertor, ctx},
		c.Defaulter, c.Creater, c.Kind, c.Hub, c.Subresource, fieldpath.NewExcludeFilterSetMap(c.ResetFields))
}

// Update implements Manager. Where the library would take too long, the managed fields stay as they are in live, as the
// library leaves them after an error.
func (m libraryManager) Update(ctx context.Context, live, obj runtime.Object, manager string) (runtime.Object, error) {
	err := m.check(ctx, live, obj)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		warning.AddWarning(ctx, "", fmt.Sprintf("metadata.managedFields was not updated: %v", err))
		return withManagedFieldsOf(live, obj)
	}
	fields, err := m.fields(ctx)
	if err != nil {
		return nil, err
	}
	obj = fields.UpdateNoErrors(live, obj, manager)
	return obj, ctx.Err()
}

// Apply implements Manager.
func (m libraryManager) Apply(
	ctx context.Context, live, applied runtime.Object, manager string, force bool,
) (runtime.Object, error) {
	if err := m.check(ctx, live, applied); err != nil {
		return nil, err
	}
	fields, err := m.fields(ctx)
	if err != nil {
		return nil, err
	}
	obj, err := fields.Apply(live, applied, manager, force)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return obj, err
}

// check returns an error if the library would take too long, or if ctx is done.
func (m libraryManager) check(ctx context.Context, objects ...runtime.Object) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	kind, err := m.config.typedKind()
	if err != nil {
		return nil // the library reports it
	}
	return checkWork(ctx, kind, objects...)
}

// withManagedFieldsOf returns obj with the managed fields of live.
func withManagedFieldsOf(live, obj runtime.Object) (runtime.Object, error) {
	from, err := meta.Accessor(live)
	if err != nil {
		return nil, err
	}
	to, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	to.SetManagedFields(from.GetManagedFields())
	return obj, nil
}

// typesUntil is a type converter that fails when ctx is done.
type typesUntil struct {
	ctx context.Context
	managedfields.TypeConverter
}

func (t typesUntil) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	return t.TypeConverter.ObjectToTyped(obj, options...)
}

func (t typesUntil) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	return t.TypeConverter.TypedToObject(value)
}

// convertorUntil is an object convertor that fails when ctx is done. The library converts the object for every manager
// in another version.
type convertorUntil struct {
	runtime.ObjectConvertor
	ctx context.Context
}

func (c convertorUntil) ConvertToVersion(in runtime.Object, gv runtime.GroupVersioner) (runtime.Object, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	return c.ObjectConvertor.ConvertToVersion(in, gv)
}
