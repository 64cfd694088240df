// Package priority is the admission plugin Priority: it sets the priorities of pods by their classes.
package priority

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Name is the name of the plugin.
const Name = "Priority"

// Classes returns the PriorityClasses.
type Classes func(ctx context.Context) ([]*schedulingv1.PriorityClass, error)

// ForPods returns the plugin for pods.
func ForPods(classes Classes) resource.Plugin {
	mutate := func(ctx context.Context, obj, old runtime.Object) error {
		spec := &obj.(*corev1.Pod).Spec
		if old == nil {
			return classes.prioritize(ctx, spec)
		}
		before := &old.(*corev1.Pod).Spec
		spec.Priority = cmp.Or(spec.Priority, before.Priority)
		spec.PreemptionPolicy = cmp.Or(spec.PreemptionPolicy, before.PreemptionPolicy)
		return nil
	}
	return resource.Plugin{Name: Name, Resource: corev1.Resource("pods"), Mutate: mutate}
}

// ForClasses returns the plugin for PriorityClasses. It keeps users from making two classes the default.
func ForClasses(classes Classes) resource.Plugin {
	validate := func(ctx context.Context, obj, old runtime.Object) error {
		class := obj.(*schedulingv1.PriorityClass)
		if !class.GlobalDefault {
			return nil
		}
		found, err := classes.find(ctx, "")
		if err != nil || found == nil || old != nil && found.Name == class.Name {
			return err
		}
		return fmt.Errorf("PriorityClass %v is already marked as default. Only one default can exist", found.Name)
	}
	return resource.Plugin{Name: Name, Resource: schedulingv1.Resource("priorityclasses"), Validate: validate}
}

// prioritize sets the priority of a new pod from its class, from the default class, or to zero.
func (c Classes) prioritize(ctx context.Context, spec *corev1.PodSpec) error {
	class, err := c.find(ctx, spec.PriorityClassName)
	switch {
	case err != nil:
		return err
	case class == nil && spec.PriorityClassName != "":
		return fmt.Errorf("no PriorityClass with name %v was found", spec.PriorityClassName)
	case class == nil:
		class = &schedulingv1.PriorityClass{PreemptionPolicy: new(corev1.PreemptLowerPriority)}
	}
	spec.PriorityClassName = class.Name
	if spec.Priority != nil && *spec.Priority != class.Value {
		return fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission "+
			"controller computed %d from the given PriorityClass name", *spec.Priority, class.Value)
	}
	spec.Priority = &class.Value
	if class.PreemptionPolicy == nil {
		return nil
	}
	if policy := spec.PreemptionPolicy; policy != nil && *policy != *class.PreemptionPolicy {
		return fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission "+
			"controller computed %s from the given PriorityClass name", *policy, *class.PreemptionPolicy)
	}
	spec.PreemptionPolicy = class.PreemptionPolicy
	return nil
}

// find returns the class with a name, or the default if the name is empty: of several defaults, the lowest. It returns
// nil if there is none.
func (c Classes) find(ctx context.Context, name string) (found *schedulingv1.PriorityClass, err error) {
	classes, err := c(ctx)
	if err != nil {
		return nil, fmt.Errorf("read priority classes: %w", err)
	}
	for _, class := range classes {
		isDefault := name == "" && class.GlobalDefault && (found == nil || class.Value < found.Value)
		if isDefault || name != "" && class.Name == name {
			found = class
		}
	}
	return found, nil
}
