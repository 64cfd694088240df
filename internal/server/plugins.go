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
	"github.com/crd-server/crd-server/internal/builtin/certificates"
	"github.com/crd-server/crd-server/internal/builtin/devices"
	"github.com/crd-server/crd-server/internal/builtin/limitranger"
	"github.com/crd-server/crd-server/internal/builtin/network"
	"github.com/crd-server/crd-server/internal/builtin/nodes"
	"github.com/crd-server/crd-server/internal/builtin/pods"
	"github.com/crd-server/crd-server/internal/builtin/rbac"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/storage"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/quota"
)

// newPlugins returns the enabled plugins of built-in resources, in the order of kube-apiserver. client is for requests
// to this server.
func newPlugins(o *ValidOptions, a *access, s *stored, client *rest.Config) (resource.Plugins, error) {
	ranges := namespaceLister[*corev1.LimitRange](s, corev1.Resource("limitranges"))
	priorities := pods.Classes(lister[*schedulingv1.PriorityClass](s, priorityClasses))
	classes := lister[*storagev1.StorageClass](s, storagev1.Resource("storageclasses"))
	ingressClasses := lister[*networkingv1.IngressClass](s, networkingv1.Resource("ingressclasses"))
	podSecurity, err := newPodSecurity(&o.Admission, s)
	if err != nil {
		return nil, err
	}
	params, err := newParamAccess(s, a.authorizer, client)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(
		limitranger.ForPods(ranges),
		pods.NewServiceAccount(findAccounts(s)),
		[]resource.Plugin{
			limitranger.ForClaims(ranges),
			pods.NewDefaultClass(priorities),
			pods.NewPriority(priorities),
			pods.NewDefaultTolerationSeconds(),
			nodes.NewTaintNodesByCondition(),
		},
		podSecurity,
		[]resource.Plugin{storage.NewDefaultStorageClass(classes)},
		storage.NewStorageObjectInUseProtection(),
		[]resource.Plugin{
			storage.NewPersistentVolumeClaimResize(classes),
			network.NewDefaultIngressClass(ingressClasses),
		},
		certificates.Signers{Authorizer: a.authorizer}.Plugins(),
		rbac.Escalation{Authorizer: a.authorizer, Rules: a.roles}.Plugins(),
		params.Plugins(),
		devices.Access{Authorizer: a.authorizer, Namespace: namespaceGetter(s)}.Plugins(),
	)
	return slices.DeleteFunc(all, func(plugin resource.Plugin) bool {
		return plugin.Name != "" && !o.Admission.Enabled(plugin.Name)
	}), nil
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
