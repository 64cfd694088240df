package managedfields

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// libraryManager is the Manager of k8s.io/apimachinery. The library cannot be interrupted: ctx is checked only before
// it is called.
// See docs/upstream.md, "Managed fields cannot be interrupted".
type libraryManager struct{ fields *managedfields.FieldManager }

var _ Manager = libraryManager{}

// NewLibrary returns a Manager for an endpoint of custom resources that only calls the library.
func NewLibrary(c Config) (Manager, error) {
	fields, err := managedfields.NewDefaultCRDFieldManager(boundedErrors{c.Types}, c.Convertor, c.Defaulter, c.Creater,
		c.Kind, c.Hub, c.Subresource, fieldpath.NewExcludeFilterSetMap(c.ResetFields))
	if err != nil {
		return nil, err
	}
	return libraryManager{fields}, nil
}

func (m libraryManager) Update(ctx context.Context, live, obj runtime.Object, manager string) (runtime.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m.fields.UpdateNoErrors(live, obj, manager), nil
}

func (m libraryManager) Apply(
	ctx context.Context, live, applied runtime.Object, manager string, force bool,
) (runtime.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m.fields.Apply(live, applied, manager, force)
}
