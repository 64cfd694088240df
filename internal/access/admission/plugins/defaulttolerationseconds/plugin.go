// Package defaulttolerationseconds is the admission plugin DefaultTolerationSeconds: it lets pods stay on failing nodes
// for a while.
package defaulttolerationseconds

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Name is the name of the plugin.
const Name = "DefaultTolerationSeconds"

// New returns the plugin for pods.
func New() resource.Plugin {
	mutate := func(_ context.Context, obj, _ runtime.Object) error {
		for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
			tolerate(&obj.(*corev1.Pod).Spec, taint)
		}
		return nil
	}
	return resource.Plugin{Name: Name, Resource: corev1.Resource("pods"), Mutate: mutate}
}

// tolerationSeconds is how long a pod stays on a failing node.
const tolerationSeconds = 300

// tolerate makes a pod tolerate a taint for a while, unless it already tolerates the taint.
func tolerate(spec *corev1.PodSpec, taint string) {
	for _, t := range spec.Tolerations {
		if (t.Key == taint || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return
		}
	}
	spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
		Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		TolerationSeconds: ptr.To[int64](tolerationSeconds),
	})
}
