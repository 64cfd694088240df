package apps

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

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

var controllerFields = &resource.Fields{
	Names: []string{"status.replicas"},
	Values: func(obj runtime.Object) map[string]string {
		replicas := obj.(*corev1.ReplicationController).Status.Replicas
		return map[string]string{"status.replicas": strconv.Itoa(int(replicas))}
	},
	Error: func(name string) error { return fmt.Errorf("field label not supported: %s", name) },
}

var controllerColumns = &resource.Columns{
	Definitions: columnsWith([]metav1.TableColumnDefinition{
		{Name: "Desired", Type: "integer", Description: corev1.ReplicationControllerSpec{}.SwaggerDoc()["replicas"]},
		{Name: "Current", Type: "integer", Description: corev1.ReplicationControllerStatus{}.SwaggerDoc()["replicas"]},
		{Name: "Ready", Type: "integer", Description: corev1.ReplicationControllerStatus{}.SwaggerDoc()["readyReplicas"]},
	}, selectorColumn(corev1.ReplicationControllerSpec{}.SwaggerDoc()["selector"])),
	Cells: func(obj runtime.Object) []any {
		c := obj.(*corev1.ReplicationController)
		template := ptr.Deref(c.Spec.Template, corev1.PodTemplateSpec{})
		cells := append([]any{
			c.Name, int64(ptr.Deref(c.Spec.Replicas, 0)), int64(c.Status.Replicas), int64(c.Status.ReadyReplicas),
			resource.Age(c),
		}, podspec.ContainerCells(&template.Spec)...)
		return append(cells, labels.FormatLabels(c.Spec.Selector))
	},
}
