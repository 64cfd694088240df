package quota

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/controllers/quota/evaluators"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// objects reads the objects that the usage of others depends on.
type objects struct {
	ctx   context.Context // of the request or the run that the evaluators are for
	store *dynamicstorage.Store
	set   *builtin.Set
}

var _ evaluators.Objects = objects{}

// Pod implements evaluators.Objects.
func (o objects) Pod(namespace, name string) (*corev1.Pod, error) {
	d := o.set.Find(corev1.Resource("pods"))
	if d == nil {
		return nil, dynamicstorage.ErrNotFound
	}
	entry, _, err := o.store.ResourceAt(d.StorageFolder()).Get(o.ctx, namespace+"/"+name, dynamicstorage.ReadAt{})
	if err != nil {
		return nil, fmt.Errorf("read Pod %s/%s: %w", namespace, name, err)
	}
	obj, err := o.set.Codec(d).Object(entry)
	if err != nil {
		return nil, fmt.Errorf("read Pod %s/%s: %w", namespace, name, err)
	}
	return obj.(*corev1.Pod), nil
}

// ResourceClaims implements evaluators.Objects.
func (o objects) ResourceClaims(namespace string) ([]*resourcev1.ResourceClaim, error) {
	return listObjects[*resourcev1.ResourceClaim](o, resourcev1.Resource("resourceclaims"), namespace+"/")
}

// DeviceClasses implements evaluators.Objects.
func (o objects) DeviceClasses() ([]*resourcev1.DeviceClass, error) {
	return listObjects[*resourcev1.DeviceClass](o, resourcev1.Resource("deviceclasses"), "")
}

// listObjects returns the objects whose keys begin with prefix; none if the resource is not served.
func listObjects[T runtime.Object](o objects, gr schema.GroupResource, prefix string) (all []T, err error) {
	d := o.set.Find(gr)
	if d == nil {
		return nil, nil
	}
	snapshot, err := o.store.ResourceAt(d.StorageFolder()).Snapshot(o.ctx, dynamicstorage.ReadAt{})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", gr.Resource, err)
	}
	codec := o.set.Codec(d)
	for entry, err := range snapshot.Ascend(o.ctx, prefix, "") {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", gr.Resource, err)
		}
		obj, err := codec.Object(entry)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", gr.Resource, err)
		}
		all = append(all, obj.(T))
	}
	return all, nil
}
