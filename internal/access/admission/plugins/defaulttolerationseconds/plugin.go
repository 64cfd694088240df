// Package defaulttolerationseconds is the admission plugin DefaultTolerationSeconds: it lets pods stay on failing nodes
// for a while.
package defaulttolerationseconds

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Name is the name of the plugin.
const Name = "DefaultTolerationSeconds"

// seconds is how long a pod stays on a failing node.
const seconds int64 = 300

// New returns the plugin for pods.
func New() resource.Plugin {
	return resource.Plugin{Name: Name, Resource: corev1.Resource("pods"), Mutate: tolerate}
}

// tolerate makes a pod tolerate the taints of failing nodes for a while, unless it already tolerates them.
func tolerate(_ context.Context, obj, _ runtime.Object) error {
	spec := &obj.(*corev1.Pod).Spec
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		tolerates := func(t corev1.Toleration) bool {
			return (t.Key == taint || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		}
		if !slices.ContainsFunc(spec.Tolerations, tolerates) {
			spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
				Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
				TolerationSeconds: new(seconds),
			})
		}
	}
	return nil
}
