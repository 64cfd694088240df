package managedfields

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crd-server/crd-server/internal/crds"
)

// NewTyped returns a Manager for objects of a Go type: CustomResourceDefinitions and built-in resources.
func NewTyped(c Config) (Manager, error) {
	fields, err := managedfields.NewDefaultFieldManager(c.Types, c.Convertor, c.Defaulter, c.Creater,
		c.Kind, c.Hub, c.Subresource, fieldpath.NewExcludeFilterSetMap(c.ResetFields))
	if err != nil {
		return nil, err
	}
	if !fastPaths {
		return typedManager{fields}, nil
	}
	return definitionManager{typedManager{fields}}, nil
}

// typedManager calls the library for objects of Go types. ctx is checked before the library is called only.
type typedManager struct{ fields *managedfields.FieldManager }

func (m typedManager) Update(ctx context.Context, live, obj runtime.Object, manager string) (runtime.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m.fields.UpdateNoErrors(live, obj, manager), nil
}

func (m typedManager) Apply(
	ctx context.Context, live, applied runtime.Object, manager string, force bool,
) (runtime.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m.fields.Apply(live, applied, manager, force)
}

// definitionManager does not show the library the schemas of a new CRD, which are most of it. The versions of a CRD
// are one field, and a new CRD differs in all its fields from the object before it, so that the schemas do not change
// the result.
type definitionManager struct{ Manager }

func (m definitionManager) Update(
	ctx context.Context, live, obj runtime.Object, manager string,
) (runtime.Object, error) {
	crd, ok := obj.(*apiextensions.CustomResourceDefinition)
	before, err := meta.Accessor(live)
	if !ok || err != nil || before.GetUID() != "" {
		return m.Manager.Update(ctx, live, obj, manager)
	}
	managed, err := m.Manager.Update(ctx, live, crds.WithoutSchemas(crd), manager)
	if err != nil {
		return nil, err
	}
	crd.ManagedFields = managed.(*apiextensions.CustomResourceDefinition).ManagedFields
	return crd, nil
}
