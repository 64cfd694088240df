package bootstrap

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Object is an object that every server has.
type Object struct {
	// Definition is the resource of the object. The server must serve it.
	Definition *resource.Definition
	// Object has the fields that a client would send. Create does not modify it, but Complete may.
	Object runtime.Object
	// Fields are those that this server manages, in the format FieldsV1. They are literal because the schemas that they
	// could be computed by take longer to read than everything else here. Empty means that nobody manages fields.
	Fields string
	// Complete, if set, changes the Object and the Fields before the object is created. It is not called if the object
	// exists.
	Complete func(ctx context.Context, o *Object) error
	// SetStatus, if set, sets the status of the new object, which the rules for creations clear. It may modify obj.
	SetStatus func(obj runtime.Object)
}

// manager is the field manager of the objects, as of requests that the server makes to itself.
const manager = "crd-server"

// Create creates the objects that do not exist, and leaves those that do as they are. Several replicas may do so at the
// same time.
//
// A new object is what a creation by a client would store: with the defaults and the rules of its definition, and with
// a uid and the time of its creation. Admission is not asked.
func Create(ctx context.Context, store *dynamicstorage.Store, set *builtin.Set, objects []Object) error {
	creations := make([]dynamicstorage.Creation, len(objects))
	for n, o := range objects {
		m, err := meta.Accessor(o.Object)
		if err != nil {
			return fmt.Errorf("create a system object: %w", err)
		}
		creations[n] = dynamicstorage.Creation{
			Resource: store.ResourceAt(o.Definition.StorageFolder()),
			Key:      keyOf(o.Definition, m),
			Value:    func() ([]byte, error) { return o.encode(ctx, set) },
		}
	}
	if err := store.CreateMissing(ctx, creations); err != nil {
		return fmt.Errorf("create system objects: %w", err)
	}
	return nil
}

func keyOf(d *resource.Definition, m metav1.Object) string {
	if d.Namespaced {
		return m.GetNamespace() + "/" + m.GetName()
	}
	return m.GetName()
}

// encode returns the bytes to store for a new object.
func (o *Object) encode(ctx context.Context, set *builtin.Set) ([]byte, error) {
	if o.Complete != nil {
		if err := o.Complete(ctx, o); err != nil {
			return nil, err
		}
	}
	d, obj := o.Definition, o.Object.DeepCopyObject()
	strategy := d.Strategy
	if strategy == nil {
		strategy = resource.Rules{}
	}
	if d.Default != nil {
		d.Default(obj)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	m.SetUID(uuid.NewUUID())
	m.SetCreationTimestamp(metav1.Now())
	if o.Fields != "" {
		created := m.GetCreationTimestamp()
		m.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: d.GroupVersion.String(),
			Time: &created, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(o.Fields),
		}})
	}
	strategy.PrepareForCreate(ctx, obj)
	if errs := strategy.Validate(ctx, obj); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	strategy.Canonicalize(obj)
	if o.SetStatus != nil {
		o.SetStatus(obj)
	}
	value, _, err := set.Codec(d).Encode(ctx, obj)
	return value, err
}
