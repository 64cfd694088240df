package builtin

import (
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/crd-server/crd-server/internal/builtin/admissionregistration"
	"github.com/crd-server/crd-server/internal/builtin/apiregistration"
	"github.com/crd-server/crd-server/internal/builtin/apps"
	"github.com/crd-server/crd-server/internal/builtin/autoscaling"
	"github.com/crd-server/crd-server/internal/builtin/batch"
	"github.com/crd-server/crd-server/internal/builtin/certificates"
	"github.com/crd-server/crd-server/internal/builtin/coordination"
	"github.com/crd-server/crd-server/internal/builtin/core"
	"github.com/crd-server/crd-server/internal/builtin/devices"
	"github.com/crd-server/crd-server/internal/builtin/events"
	"github.com/crd-server/crd-server/internal/builtin/flowcontrol"
	"github.com/crd-server/crd-server/internal/builtin/network"
	"github.com/crd-server/crd-server/internal/builtin/node"
	"github.com/crd-server/crd-server/internal/builtin/nodes"
	"github.com/crd-server/crd-server/internal/builtin/pods"
	"github.com/crd-server/crd-server/internal/builtin/policy"
	"github.com/crd-server/crd-server/internal/builtin/rbac"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/scheduling"
	"github.com/crd-server/crd-server/internal/builtin/storage"
	"github.com/crd-server/crd-server/internal/builtin/storagemigration"
)

// Essential returns the resources of the tier essential, which controllers need beside custom resources.
func Essential() []*resource.Definition {
	return resource.Complete(slices.Concat(controllers(), rbac.Definitions(), admissionregistration.Definitions()))
}

// All returns the resources of the tier all: every kind of k8s.io/api in the versions that kube-apiserver serves by
// default.
func All() []*resource.Definition {
	return append(Essential(), resource.Complete(slices.Concat(
		certificates.Definitions(),
		devices.Definitions(),
		flowcontrol.Definitions(),
		storagemigration.Definitions(),
		[]*resource.Definition{core.ComponentStatus(), core.LimitRange()},
		network.Definitions(),
		storage.Definitions(),
		node.Definitions(),
		apps.Definitions(),
		autoscaling.Definitions(),
		batch.Definitions(),
		nodes.Definitions(),
		pods.Definitions(),
		policy.Definitions(),
		scheduling.Definitions(),
	))...)
}

// controllers returns the resources that nearly every controller uses. The other rows are in the packages of their
// groups.
func controllers() []*resource.Definition {
	return []*resource.Definition{
		{
			Object: &corev1.ConfigMap{}, ShortNames: []string{"cm"}, Namespaced: true,
			Strategy: core.ConfigMapRules, Default: core.DefaultConfigMap, Columns: core.ConfigMapColumns,
		},
		events.Core(),
		{
			Object: &corev1.Namespace{}, ShortNames: []string{"ns"},
			Strategy: core.NamespaceRules, Default: core.DefaultNamespace,
			Verbs: []string{"create", "delete", "get", "list", "patch", "update", "watch"},
			Subresources: []resource.Subresource{
				{
					Name: "finalize", Verbs: []string{"update"}, Strategy: core.NamespaceFinalizeRules,
					Resets: []string{"status"},
				},
				{Name: "status", Strategy: core.NamespaceStatusRules},
			},
			Columns:       core.NamespaceColumns,
			Fields:        &resource.Fields{Values: resource.Paths(&corev1.Namespace{}, "status.phase")},
			BeginDeletion: core.BeginNamespaceDeletion, Held: core.NamespaceHeld, ReturnsDeleted: true,
		},
		{
			Object: &corev1.ResourceQuota{}, ShortNames: []string{"quota"}, Namespaced: true,
			Strategy: core.ResourceQuotaRules, Default: core.DefaultResourceQuota,
			Subresources: []resource.Subresource{{Name: "status", Strategy: core.ResourceQuotaStatusRules}},
			Columns:      core.ResourceQuotaColumns, ReturnsDeleted: true,
		},
		{
			Object: &corev1.Secret{}, Namespaced: true,
			Strategy: core.SecretRules, Default: core.DefaultSecret,
			Columns: core.SecretColumns,
			Fields:  &resource.Fields{Values: resource.Paths(&corev1.Secret{}, "type")},
		},
		{
			Object: &corev1.ServiceAccount{}, ShortNames: []string{"sa"}, Namespaced: true,
			Strategy: core.ServiceAccountRules, Columns: resource.NameAndAge, ReturnsDeleted: true,
			Subresources: []resource.Subresource{core.TokenSubresource()},
		},
		{
			Object: &coordinationv1.Lease{}, Namespaced: true,
			Strategy: coordination.LeaseRules, Columns: coordination.LeaseColumns,
		},
		events.V1(),
		apiregistration.Definition(),
	}
}
