package pods

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// bindingAction is the subresource that puts a pod on a node. The UID and the resourceVersion of a Binding are
// preconditions.
var bindingAction = &resource.Action{
	Object: &corev1.Binding{}, KeepsSystemFields: true,
}

// evictionAction is the subresource that deletes a pod if budgets allow it. See package eviction.
var evictionAction = &resource.Action{
	Object: &policyv1.Eviction{},
}

// bindings is the resource that conflicts of bindings name.
var bindings = schema.GroupResource{Resource: "pods/binding"}

// Bind puts a pod on the node that a Binding names. The node need not exist.
func Bind(ctx context.Context, r resource.ActionRequest) (runtime.Object, error) {
	binding := r.Body.(*corev1.Binding)
	if binding.Name != r.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if errs := checkBinding(binding); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	if err := r.Admit(ctx, binding); err != nil {
		return nil, err
	}
	_, err := r.Object.Update(ctx, len(r.Options.DryRun) > 0, func(obj runtime.Object) error {
		return assign(obj.(*corev1.Pod), binding)
	})
	if err != nil {
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess}, nil
}

func checkBinding(binding *corev1.Binding) field.ErrorList {
	target, isNode := &binding.Target, binding.Target.Kind == "" || binding.Target.Kind == "Node"
	if !isNode {
		kind := field.NotSupported(field.NewPath("target", "kind"), target.Kind, []string{"Node", "<empty>"})
		return append(field.ErrorList{kind}, rules.Required(target.Name, field.NewPath("target", "name"))...)
	}
	return rules.RequiredName(target.Name, field.NewPath("target", "name"), apivalidation.NameIsDNSSubdomain)
}

// assign sets the node of a pod that has none yet.
func assign(pod *corev1.Pod, binding *corev1.Binding) error {
	conflict := func(format string, args ...any) error {
		return apierrors.NewConflict(bindings, binding.Name, fmt.Errorf(format, args...))
	}
	switch {
	case binding.UID != "" && binding.UID != pod.UID:
		return conflict("Precondition failed: UID in precondition: %v, UID in object meta: %v", binding.UID, pod.UID)
	case binding.ResourceVersion != "" && binding.ResourceVersion != pod.ResourceVersion:
		return conflict("Precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v",
			binding.ResourceVersion, pod.ResourceVersion)
	case pod.DeletionTimestamp != nil:
		return conflict("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return conflict("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return conflict("pod %v has non-empty .spec.schedulingGates", pod.Name)
	}
	pod.Spec.NodeName, pod.Status.NominatedNodeName = binding.Target.Name, ""
	pod.Annotations = labels.Merge(pod.Annotations, binding.Annotations)
	pod.Labels = labels.Merge(pod.Labels, binding.Labels)
	SetCondition(&pod.Status, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
	return nil
}
