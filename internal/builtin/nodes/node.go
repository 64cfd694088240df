//lint:file-ignore SA1019 a deprecated field of nodes is cleared, and kept in old ones

package nodes

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// Definitions returns the row of Nodes.
func Definitions() []*resource.Definition {
	return []*resource.Definition{{
		Object: &corev1.Node{}, ShortNames: []string{"no"}, Folder: "minions",
		Strategy: nodeStrategy, Default: defaultNode,
		Subresources: []resource.Subresource{
			resource.NewProxy(&corev1.NodeProxyOptions{}),
			{Name: "status", Strategy: nodeStatus},
		},
		Columns: nodeColumns,
		Fields:  &resource.Fields{Values: resource.Paths(&corev1.Node{}, "spec.unschedulable")},
	}}
}

var nodeStrategy = resource.Typed[*corev1.Node]{
	Prepare: func(n *corev1.Node) { n.Spec.ConfigSource, n.Status.Config, n.Spec.PodPreemptionPolicy = nil, nil, nil },
	Check:   checkNode,
	Warn:    nodeWarnings,
	PrepareUpdate: func(n, old *corev1.Node) {
		n.Status = old.Status
		if old.Spec.ConfigSource == nil {
			n.Spec.ConfigSource = nil
		}
		if old.Spec.PodPreemptionPolicy == nil {
			n.Spec.PodPreemptionPolicy = nil
		}
	},
	CheckUpdate: func(n, old *corev1.Node) field.ErrorList { return append(checkNode(n), checkNodeUpdate(n, old)...) },
	WarnUpdate:  func(n, _ *corev1.Node) []string { return nodeWarnings(n) },
}

var nodeStatus = resource.Typed[*corev1.Node]{
	PrepareUpdate: func(n, old *corev1.Node) {
		n.Spec = old.Spec
		if old.Status.Config == nil {
			n.Status.Config = nil
		}
	},
	CheckUpdate: checkNodeUpdate,
}

// defaultNode completes podCIDR and podCIDRs from each other, and allocatable from capacity.
func defaultNode(obj runtime.Object) {
	n := obj.(*corev1.Node)
	switch spec := &n.Spec; {
	case spec.PodCIDR != "" && (len(spec.PodCIDRs) == 0 || spec.PodCIDRs[0] != spec.PodCIDR):
		spec.PodCIDRs = []string{spec.PodCIDR}
	case spec.PodCIDR == "" && len(spec.PodCIDRs) > 0:
		spec.PodCIDR = spec.PodCIDRs[0]
	}
	if n.Status.Allocatable == nil && n.Status.Capacity != nil {
		n.Status.Allocatable = maps.Clone(n.Status.Capacity)
	}
	podspec.DefaultQuantities(n.Status.Capacity)
	podspec.DefaultQuantities(n.Status.Allocatable)
}

func nodeWarnings(n *corev1.Node) (warnings []string) {
	if n.Spec.DoNotUseExternalID != "" {
		warnings = append(warnings, "spec.externalID: this field is deprecated, and is unused by Kubernetes")
	}
	return warnings
}

func checkNode(n *corev1.Node) field.ErrorList {
	path, cidrs := field.NewPath("spec", "podCIDRs"), n.Spec.PodCIDRs
	errs := slices.Concat(
		resource.CheckClusterMetadata(&n.ObjectMeta, apivalidation.NameIsDNSSubdomain),
		checkTaints(n.Spec.Taints),
		checkCapacity(&n.Status),
		rules.Every(cidrs, path, func(cidr string, path *field.Path) field.ErrorList {
			return validation.IsValidCIDRForLegacyField(path, cidr, false, nil)
		}),
	)
	dual, _ := netutils.IsDualStackCIDRStrings(cidrs)
	return append(errs, rules.Invalid(len(errs) == 0 && (len(cidrs) > 2 || len(cidrs) == 2 && !dual), path, cidrs,
		"may specify no more than one CIDR for each IP family")...)
}

func checkTaints(taints []corev1.Taint) (errs field.ErrorList) {
	for i, taint := range taints {
		path := field.NewPath("metadata", "taints").Index(i) // as kube-apiserver names it
		errs = append(errs, slices.Concat(
			metav1validation.ValidateLabelName(taint.Key, path.Child("key")),
			rules.LabelValue(taint.Value, path.Child("value")),
			rules.OneOf(taint.Effect, path.Child("effect"), corev1.TaintEffectNoSchedule,
				corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute),
		)...)
		if slices.ContainsFunc(taints[:i], func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
			err := field.Duplicate(path, taintValue(taint))
			err.Detail = "taints must be unique by key and effect pair"
			errs = append(errs, err)
		}
	}
	return errs
}

// taintValue is a taint as an error of kube-apiserver prints it.
type taintValue struct {
	Key, Value string
	Effect     corev1.TaintEffect
	TimeAdded  *metav1.Time
}

func checkCapacity(s *corev1.NodeStatus) field.ErrorList {
	path := field.NewPath("status")
	return append(checkQuantities(s.Capacity, path.Child("capacity")),
		checkQuantities(s.Allocatable, path.Child("allocatable"))...)
}

func checkQuantities(list corev1.ResourceList, path *field.Path) (errs field.ErrorList) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		errs = append(errs, podspec.CheckQuantity(name, list[name], path.Child(string(name)))...)
	}
	return errs
}

func checkNodeUpdate(n, old *corev1.Node) field.ErrorList {
	errs := append(resource.CheckMetadataUpdate(&n.ObjectMeta, &old.ObjectMeta), checkCapacity(&n.Status)...)
	for i, address := range n.Status.Addresses {
		errs = append(errs, rules.When(slices.Contains(n.Status.Addresses[:i], address),
			field.Duplicate(field.NewPath("status", "addresses").Index(i), address))...)
	}
	path, cidrs, provider := field.NewPath("spec"), old.Spec.PodCIDRs, old.Spec.ProviderID
	changed := "field cannot be modified once set"
	if n.Spec.ProviderID == "" {
		changed = "field cannot be cleared once set"
	}
	return slices.Concat(errs,
		rules.Forbidden(len(cidrs) > 0 && !slices.Equal(n.Spec.PodCIDRs, cidrs), path.Child("podCIDRs"),
			`node updates may not change podCIDR except from "" to valid`),
		rules.Invalid(provider != "" && n.Spec.ProviderID != provider, path.Child("providerID"), nil, changed),
		checkTaints(n.Spec.Taints),
		rules.Forbidden(n.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID, path.Child("externalID"),
			"may not be updated"),
	)
}
