package apps

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var controllerStrategy = podspec.WithWarnings(resource.Typed[*corev1.ReplicationController]{
	Name: apivalidation.NameIsDNSSubdomain, CheckBoth: checkController,
	Prepare:       resource.Begin[*corev1.ReplicationController],
	PrepareUpdate: resource.Follow[*corev1.ReplicationController],
}, templatePath, func(c *corev1.ReplicationController) *corev1.PodTemplateSpec { return c.Spec.Template })

var controllerStatus = resource.StatusRules(func(c, _ *corev1.ReplicationController) field.ErrorList {
	return checkReplicas(&c.Status)
})

// defaultController takes the selector and the labels of the template if there are none.
func defaultController(obj runtime.Object) {
	c := obj.(*corev1.ReplicationController)
	if template := c.Spec.Template; template != nil {
		if len(c.Spec.Selector) == 0 && template.Labels != nil {
			c.Spec.Selector = maps.Clone(template.Labels)
		}
		if len(c.Labels) == 0 && template.Labels != nil {
			c.Labels = maps.Clone(template.Labels)
		}
		podspec.DefaultTemplate(template)
	}
	resource.Default(&c.Spec.Replicas, 1)
}

func checkController(c *corev1.ReplicationController) field.ErrorList {
	spec := &c.Spec
	errs := rules.Missing(len(spec.Selector) == 0, specPath.Child("selector"), "")
	if spec.Template == nil {
		errs = append(errs, field.Required(templatePath, ""))
	} else {
		errs = slices.Concat(errs, checkMatch(labels.SelectorFromSet(spec.Selector), spec.Template),
			checkEndlessTemplate(spec.Template, "ReplicationController"))
	}
	return append(errs, rules.NonNegatives(spec, specPath, "replicas", "minReadySeconds")...)
}
