//lint:file-ignore SA1019 a deprecated field of nodes is cleared, and kept in old ones

package nodes

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/crd-server/crd-server/internal/builtin/connect"
	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the row of Nodes.
func Definitions() []*resource.Definition {
	return []*resource.Definition{{
		Object: &corev1.Node{}, ShortNames: []string{"no"}, Folder: "minions",
		Strategy: nodeStrategy, Default: defaultNode,
		Subresources: []resource.Subresource{
			connect.NodeProxy,
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

// TaintNodesByCondition is the plugin that taints new nodes, which are not ready yet.
const TaintNodesByCondition = "TaintNodesByCondition"

// NewTaintNodesByCondition returns the plugin TaintNodesByCondition.
func NewTaintNodesByCondition() resource.Plugin {
	return resource.Plugin{Name: TaintNodesByCondition, Resource: corev1.Resource("nodes"), Mutate: taintNew}
}

func taintNew(_ context.Context, obj, old runtime.Object) error {
	notReady := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	n := obj.(*corev1.Node)
	isTaint := func(taint corev1.Taint) bool { return taint.MatchTaint(&notReady) }
	if old == nil && !slices.ContainsFunc(n.Spec.Taints, isTaint) {
		n.Spec.Taints = append(n.Spec.Taints, notReady)
	}
	return nil
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
	errs := resource.CheckClusterMetadata(&n.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, checkTaints(n.Spec.Taints)...)
	errs = append(errs, checkCapacity(&n.Status)...)
	path := field.NewPath("spec", "podCIDRs")
	for i, cidr := range n.Spec.PodCIDRs {
		errs = append(errs, validation.IsValidCIDRForLegacyField(path.Index(i), cidr, false, nil)...)
	}
	if len(n.Spec.PodCIDRs) < 2 || len(errs) > 0 {
		return errs
	}
	if dual, err := netutils.IsDualStackCIDRStrings(n.Spec.PodCIDRs); err != nil || !dual || len(n.Spec.PodCIDRs) > 2 {
		errs = append(errs, field.Invalid(path, n.Spec.PodCIDRs, "may specify no more than one CIDR for each IP family"))
	}
	return errs
}

func checkTaints(taints []corev1.Taint) (errs field.ErrorList) {
	known := []corev1.TaintEffect{
		corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute,
	}
	for i, taint := range taints {
		path := field.NewPath("metadata", "taints").Index(i) // as kube-apiserver names it
		errs = append(errs, podspec.CheckLabelName(taint.Key, path.Child("key"))...)
		for _, message := range validation.IsValidLabelValue(taint.Value) {
			errs = append(errs, field.Invalid(path.Child("value"), taint.Value, message))
		}
		switch {
		case taint.Effect == "":
			errs = append(errs, field.Required(path.Child("effect"), ""))
		case !slices.Contains(known, taint.Effect):
			errs = append(errs, field.NotSupported(path.Child("effect"), taint.Effect, known))
		}
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

func checkCapacity(s *corev1.NodeStatus) (errs field.ErrorList) {
	for _, list := range []struct {
		name       string
		quantities corev1.ResourceList
	}{{"capacity", s.Capacity}, {"allocatable", s.Allocatable}} {
		for _, name := range slices.Sorted(maps.Keys(list.quantities)) {
			path := field.NewPath("status", list.name, string(name))
			errs = append(errs, podspec.CheckQuantity(name, list.quantities[name], path)...)
		}
	}
	return errs
}

func checkNodeUpdate(n, old *corev1.Node) field.ErrorList {
	errs := resource.CheckMetadataUpdate(&n.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checkCapacity(&n.Status)...)
	for i, address := range n.Status.Addresses {
		if slices.Contains(n.Status.Addresses[:i], address) {
			errs = append(errs, field.Duplicate(field.NewPath("status", "addresses").Index(i), address))
		}
	}
	path := field.NewPath("spec")
	if len(old.Spec.PodCIDRs) > 0 && !slices.Equal(n.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		errs = append(errs,
			field.Forbidden(path.Child("podCIDRs"), `node updates may not change podCIDR except from "" to valid`))
	}
	if provider := old.Spec.ProviderID; provider != "" && n.Spec.ProviderID != provider {
		message := "field cannot be modified once set"
		if n.Spec.ProviderID == "" {
			message = "field cannot be cleared once set"
		}
		errs = append(errs, field.Invalid(path.Child("providerID"), nil, message))
	}
	errs = append(errs, checkTaints(n.Spec.Taints)...)
	if n.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID {
		errs = append(errs, field.Forbidden(path.Child("externalID"), "may not be updated"))
	}
	return errs
}
