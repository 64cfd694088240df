package builtins

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/crd-server/crd-server/internal/builtin/certificates"
	"github.com/crd-server/crd-server/internal/builtin/devices"
	"github.com/crd-server/crd-server/internal/builtin/limitranger"
	"github.com/crd-server/crd-server/internal/builtin/network"
	"github.com/crd-server/crd-server/internal/builtin/nodes"
	"github.com/crd-server/crd-server/internal/builtin/pods"
	"github.com/crd-server/crd-server/internal/builtin/rbac"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/storage"
)

// newPlugins returns the enabled plugins, in the order of kube-apiserver.
func newPlugins(c *Config) (resource.Plugins, error) {
	ranges := newReader[*corev1.LimitRange](c, corev1.Resource("limitranges")).list
	priorities := pods.Classes(newReader[*schedulingv1.PriorityClass](c, priorityClasses).all)
	classes := newReader[*storagev1.StorageClass](c, storagev1.Resource("storageclasses")).all
	ingressClasses := newReader[*networkingv1.IngressClass](c, networkingv1.Resource("ingressclasses")).all
	namespaces := newReader[*corev1.Namespace](c, namespacesResource)
	podSecurity, err := newPodSecurity(c, namespaces)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(
		limitranger.ForPods(ranges),
		pods.NewServiceAccount(findAccounts(c)),
		[]resource.Plugin{
			limitranger.ForClaims(ranges),
			nodes.NewTaintNodesByCondition(),
		},
		podSecurity,
		[]resource.Plugin{
			pods.NewDefaultClass(priorities),
			pods.NewPriority(priorities),
			pods.NewDefaultTolerationSeconds(),
			storage.NewDefaultStorageClass(classes),
		},
		storage.NewStorageObjectInUseProtection(),
		[]resource.Plugin{storage.NewPersistentVolumeClaimResize(classes)},
		certificates.Signers{Authorizer: c.Authorizer}.Plugins(),
		[]resource.Plugin{network.NewDefaultIngressClass(ingressClasses)},
		rbac.Escalation{Authorizer: c.Authorizer, Rules: c.Roles}.Plugins(),
		newParamAccess(c).Plugins(),
		devices.Access{Authorizer: c.Authorizer, Namespace: namespaces.get}.Plugins(),
	)
	return slices.DeleteFunc(all, func(plugin resource.Plugin) bool {
		return plugin.Name != "" && !c.Admission.Enabled(plugin.Name)
	}), nil
}
