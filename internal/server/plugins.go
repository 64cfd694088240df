package server

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/access/admission"
	"github.com/crd-server/crd-server/internal/builtin/limitranger"
	"github.com/crd-server/crd-server/internal/builtin/network"
	"github.com/crd-server/crd-server/internal/builtin/nodes"
	"github.com/crd-server/crd-server/internal/builtin/pods"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/storage"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/quota"
)

// addPlugins adds the admission plugins for single resources that are enabled to the definitions of these, in the order
// of kube-apiserver.
func addPlugins(o *admission.Options, s *stored) error {
	add := func(gr schema.GroupResource, plugin resource.Plugin) {
		if d := s.builtins.Find(gr); d != nil && o.Enabled(plugin.Name) {
			d.Plugins = append(d.Plugins, plugin)
		}
	}
	claims, ingresses := corev1.Resource("persistentvolumeclaims"), networkingv1.Resource("ingresses")
	ranges := namespaceLister[*corev1.LimitRange](s, corev1.Resource("limitranges"))
	for _, plugin := range slices.Concat(limitranger.ForPods(ranges), pods.NewServiceAccount(findAccounts(s))) {
		add(corev1.Resource("pods"), plugin)
	}
	add(claims, limitranger.ForClaims(ranges))
	priorities := pods.Classes(lister[*schedulingv1.PriorityClass](s, priorityClasses))
	add(priorityClasses, pods.NewDefaultClass(priorities))
	add(corev1.Resource("pods"), pods.NewPriority(priorities))
	add(corev1.Resource("pods"), pods.NewDefaultTolerationSeconds())
	add(corev1.Resource("nodes"), nodes.NewTaintNodesByCondition())
	if err := addPodSecurity(o, s); err != nil {
		return err
	}
	classes := lister[*storagev1.StorageClass](s, storagev1.Resource("storageclasses"))
	add(claims, storage.NewDefaultStorageClass(classes))
	if o.Enabled(storage.StorageObjectInUseProtection) {
		storage.Protect(s.builtins.Definitions)
	}
	add(claims, storage.NewPersistentVolumeClaimResize(classes))
	add(ingresses, network.NewDefaultIngressClass(
		lister[*networkingv1.IngressClass](s, networkingv1.Resource("ingressclasses"))))
	return nil
}

// newQuotas returns the admission plugin ResourceQuota and the controller; nil, nil, nil if quotas are not served.
func newQuotas(o *admission.Options, s *stored, client *rest.Config) (*quota.Admission, *quota.Controller, error) {
	limited, err := o.QuotaConfiguration()
	if err != nil {
		return nil, nil, err
	}
	return quota.New(quota.Config{Store: s.store, Table: s.table, Set: s.builtins, Client: client, Limited: limited})
}

// lister returns a function that lists the objects of a cluster-scoped resource; none if it is not served.
func lister[T runtime.Object](s *stored, gr schema.GroupResource) func(ctx context.Context) ([]T, error) {
	list := listerBelow[T](s, gr)
	return func(ctx context.Context) ([]T, error) { return list(ctx, "") }
}

// namespaceGetter returns a function that returns the newest state of a namespace. None exists if they are not served.
func namespaceGetter(s *stored) func(ctx context.Context, name string) (*corev1.Namespace, error) {
	namespaces := corev1.Resource("namespaces")
	d := s.builtins.Find(namespaces)
	if d == nil {
		return func(_ context.Context, name string) (*corev1.Namespace, error) {
			return nil, apierrors.NewNotFound(namespaces, name)
		}
	}
	entries, codec := s.store.ResourceAt(d.StorageFolder()), s.builtins.Codec(d)
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
	s *stored, gr schema.GroupResource,
) func(ctx context.Context, namespace string) ([]T, error) {
	list := listerBelow[T](s, gr)
	return func(ctx context.Context, namespace string) ([]T, error) { return list(ctx, namespace+"/") }
}

// listerBelow returns a function that lists the objects of a resource whose keys have a prefix.
func listerBelow[T runtime.Object](
	s *stored, gr schema.GroupResource,
) func(ctx context.Context, prefix string) ([]T, error) {
	d := s.builtins.Find(gr)
	if d == nil {
		return func(context.Context, string) ([]T, error) { return nil, nil }
	}
	entries, codec := s.store.ResourceAt(d.StorageFolder()), s.builtins.Codec(d)
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
