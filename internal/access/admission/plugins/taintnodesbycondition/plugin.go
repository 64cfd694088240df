// Package taintnodesbycondition is the admission plugin TaintNodesByCondition: it taints new nodes, which are not ready
// yet.
package taintnodesbycondition

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Name is the name of the plugin.
const Name = "TaintNodesByCondition"

// New returns the plugin for nodes.
func New() resource.Plugin {
	return resource.Plugin{Name: Name, Resource: corev1.Resource("nodes"), Mutate: taintNew}
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
