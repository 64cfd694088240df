package builtins

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/crd-server/crd-server/internal/access/admission/plugins/certificates"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/defaultingressclass"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/defaultstorageclass"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/defaulttolerationseconds"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/limitranger"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/persistentvolumeclaimresize"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/priority"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/serviceaccount"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/storageobjectinuseprotection"
	"github.com/crd-server/crd-server/internal/access/admission/plugins/taintnodesbycondition"
	"github.com/crd-server/crd-server/internal/access/authorization/escalation"
	"github.com/crd-server/crd-server/internal/builtin/devices"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// newPlugins returns the enabled plugins, in the order of kube-apiserver.
func newPlugins(c *Config) (resource.Plugins, error) {
	ranges := newReader[*corev1.LimitRange](c, corev1.Resource("limitranges")).list
	priorities := priority.Classes(newReader[*schedulingv1.PriorityClass](c, priorityClasses).all)
	classes := newReader[*storagev1.StorageClass](c, storagev1.Resource("storageclasses")).all
	ingressClasses := newReader[*networkingv1.IngressClass](c, networkingv1.Resource("ingressclasses")).all
	namespaces := newReader[*corev1.Namespace](c, namespacesResource)
	podSecurity, err := newPodSecurity(c, namespaces)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(
		limitranger.ForPods(ranges),
		serviceaccount.New(findAccounts(c)),
		[]resource.Plugin{
			limitranger.ForClaims(ranges),
			taintnodesbycondition.New(),
		},
		podSecurity,
		[]resource.Plugin{
			priority.ForClasses(priorities),
			priority.ForPods(priorities),
			defaulttolerationseconds.New(),
			defaultstorageclass.New(classes),
		},
		storageobjectinuseprotection.New(),
		[]resource.Plugin{persistentvolumeclaimresize.New(classes)},
		certificates.Signers{Authorizer: c.Authorizer}.Plugins(),
		[]resource.Plugin{defaultingressclass.New(ingressClasses)},
		escalation.Check{Authorizer: c.Authorizer, Rules: c.Roles}.Plugins(),
		newParamAccess(c).Plugins(),
		devices.Access{Authorizer: c.Authorizer, Namespace: namespaces.get}.Plugins(),
	)
	return slices.DeleteFunc(all, func(plugin resource.Plugin) bool {
		return plugin.Name != "" && !c.Admission.Enabled(plugin.Name)
	}), nil
}
