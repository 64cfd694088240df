// Package taintnodesbycondition is the admission plugin TaintNodesByCondition: it taints new nodes, which are not ready
// yet.
package taintnodesbycondition

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Name is the name of the plugin.
const Name = "TaintNodesByCondition"

// New returns the plugin for nodes.
func New() resource.Plugin {
	return resource.Plugin{Name: Name, Resource: corev1.Resource("nodes"), Mutate: resource.OnCreate(taint)}
}

func taint(_ context.Context, node *corev1.Node) error {
	notReady := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&notReady) }) {
		node.Spec.Taints = append(node.Spec.Taints, notReady)
	}
	return nil
}
