package builtins

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// newest reads the present state of etcd.
var newest = dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}

// reader reads the objects of a resource.
type reader[T runtime.Object] struct {
	resource schema.GroupResource
	entries  *dynamicstorage.Resource // nil if the resource is not served: there are no objects
	codec    *builtin.Codec
}

func newReader[T runtime.Object](c *Config, resource schema.GroupResource) *reader[T] {
	r := &reader[T]{resource: resource}
	if d := c.Set.Find(resource); d != nil {
		r.entries, r.codec = c.Store.ResourceAt(d.StorageFolder()), c.Set.Codec(d)
	}
	return r
}

// object decodes an entry.
func (r *reader[T]) object(entry *dynamicstorage.Entry) (object T, err error) {
	decoded, err := r.codec.Object(entry)
	if err != nil {
		return object, fmt.Errorf("%s %s: %w", r.resource.Resource, entry.Key, err)
	}
	return decoded.(T), nil
}

// get returns the newest state of a cluster-scoped object.
func (r *reader[T]) get(ctx context.Context, name string) (object T, err error) {
	if r.entries == nil {
		return object, apierrors.NewNotFound(r.resource, name)
	}
	entry, _, err := r.entries.Get(ctx, name, newest)
	if err != nil {
		return object, err
	}
	return r.object(entry)
}

// list returns the newest state of the objects in a namespace.
func (r *reader[T]) list(ctx context.Context, namespace string) ([]T, error) {
	return r.listBelow(ctx, namespace+"/")
}

// all returns the newest state of all objects.
func (r *reader[T]) all(ctx context.Context) ([]T, error) { return r.listBelow(ctx, "") }

// listBelow returns the objects whose keys have a prefix.
func (r *reader[T]) listBelow(ctx context.Context, prefix string) (found []T, err error) {
	if r.entries == nil {
		return nil, nil
	}
	snapshot, err := r.entries.Snapshot(ctx, newest)
	if err != nil {
		return nil, err
	}
	for entry, err := range snapshot.Ascend(ctx, prefix, "") {
		if err != nil {
			return nil, err
		}
		object, err := r.object(entry)
		if err != nil {
			return nil, err
		}
		found = append(found, object)
	}
	return found, nil
}
