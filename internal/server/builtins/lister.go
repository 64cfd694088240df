package builtins

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// lister returns a function that lists the objects of a cluster-scoped resource; none if it is not served.
func lister[T runtime.Object](c *Config, gr schema.GroupResource) func(ctx context.Context) ([]T, error) {
	list := listerBelow[T](c, gr)
	return func(ctx context.Context) ([]T, error) { return list(ctx, "") }
}

// namespaceGetter returns a function that returns the newest state of a namespace. None exists if they are not served.
func namespaceGetter(c *Config) func(ctx context.Context, name string) (*corev1.Namespace, error) {
	namespaces := corev1.Resource("namespaces")
	d := c.Set.Find(namespaces)
	if d == nil {
		return func(_ context.Context, name string) (*corev1.Namespace, error) {
			return nil, apierrors.NewNotFound(namespaces, name)
		}
	}
	entries, codec := c.Store.ResourceAt(d.StorageFolder()), c.Set.Codec(d)
	return func(ctx context.Context, name string) (*corev1.Namespace, error) {
		entry, _, err := entries.Get(ctx, name, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
		if err != nil {
			return nil, err
		}
		obj, err := codec.Object(entry)
		if err != nil {
			return nil, fmt.Errorf("namespace %s: %w", name, err)
		}
		return obj.(*corev1.Namespace), nil
	}
}

// namespaceLister returns a function that lists the objects of a resource in a namespace; none if it is not served.
func namespaceLister[T runtime.Object](
	c *Config, gr schema.GroupResource,
) func(ctx context.Context, namespace string) ([]T, error) {
	list := listerBelow[T](c, gr)
	return func(ctx context.Context, namespace string) ([]T, error) { return list(ctx, namespace+"/") }
}

// listerBelow returns a function that lists the objects of a resource whose keys have a prefix.
func listerBelow[T runtime.Object](
	c *Config, gr schema.GroupResource,
) func(ctx context.Context, prefix string) ([]T, error) {
	d := c.Set.Find(gr)
	if d == nil {
		return func(context.Context, string) ([]T, error) { return nil, nil }
	}
	entries, codec := c.Store.ResourceAt(d.StorageFolder()), c.Set.Codec(d)
	return func(ctx context.Context, prefix string) (all []T, err error) {
		snapshot, err := entries.Snapshot(ctx, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
		if err != nil {
			return nil, err
		}
		for entry, err := range snapshot.Ascend(ctx, prefix, "") {
			if err != nil {
				return nil, err
			}
			obj, err := codec.Object(entry)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", gr.Resource, entry.Key, err)
			}
			all = append(all, obj.(T))
		}
		return all, nil
	}
}
