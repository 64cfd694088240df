package apps

import (
	"maps"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var controllerStrategy = resource.Typed[*corev1.ReplicationController]{
	Prepare: resource.Begin[*corev1.ReplicationController],
	Check: func(c *corev1.ReplicationController) field.ErrorList {
		return append(resource.CheckMetadata(&c.ObjectMeta, apivalidation.NameIsDNSSubdomain), checkController(&c.Spec)...)
	},
	Warn: func(c *corev1.ReplicationController) []string {
		return append(podspec.NameWarnings(c.Name), podspec.TemplateWarnings(c.Spec.Template, templatePath)...)
	},
	PrepareUpdate: resource.Follow[*corev1.ReplicationController],
	CheckUpdate: func(c, old *corev1.ReplicationController) field.ErrorList {
		return append(resource.CheckMetadataUpdate(&c.ObjectMeta, &old.ObjectMeta), checkController(&c.Spec)...)
	},
	WarnUpdate: resource.WhenChanged(func(c *corev1.ReplicationController) []string {
		return podspec.TemplateWarnings(c.Spec.Template, templatePath)
	}),
}

var controllerStatus = resource.Typed[*corev1.ReplicationController]{
	PrepareUpdate: resource.KeepSpec[*corev1.ReplicationController],
	CheckUpdate: func(c, old *corev1.ReplicationController) field.ErrorList {
		s := &c.Status
		return slices.Concat(resource.CheckMetadataUpdate(&c.ObjectMeta, &old.ObjectMeta), checkCounts(s),
			checkReplicas(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas))
	},
}

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

func checkController(spec *corev1.ReplicationControllerSpec) field.ErrorList {
	errs := rules.When(len(spec.Selector) == 0, field.Required(specPath.Child("selector"), ""))
	if spec.Template == nil {
		errs = append(errs, field.Required(templatePath, ""))
	} else {
		errs = append(errs, slices.Concat(checkMatch(labels.SelectorFromSet(spec.Selector), spec.Template),
			checkReplicated("ReplicationController")(spec.Template, templatePath))...)
	}
	return slices.Concat(errs, checkNumber(ptr.Deref(spec.Replicas, 0), "replicas"),
		checkNumber(spec.MinReadySeconds, "minReadySeconds"))
}

var controllerScale = resource.NewScale(
	func(c *corev1.ReplicationController) (autoscalingv1.ScaleSpec, autoscalingv1.ScaleStatus, error) {
		return autoscalingv1.ScaleSpec{Replicas: ptr.Deref(c.Spec.Replicas, 0)}, autoscalingv1.ScaleStatus{
			Replicas: c.Status.Replicas, Selector: labels.SelectorFromSet(c.Spec.Selector).String(),
		}, nil
	},
	func(c *corev1.ReplicationController, replicas int32) { c.Spec.Replicas = &replicas },
)

var controllerColumns = resource.Columns[*corev1.ReplicationController]{
	{Name: "Desired", Type: "integer", Field: "spec.replicas"},
	{Name: "Current", Type: "integer", Field: "status.replicas"},
	{Name: "Ready", Type: "integer", Field: "status.readyReplicas"},
	{Name: "Age"},
	{Name: "Containers", Wide: true, Field: "spec.template.spec.containers[*].name", Doc: podspec.NamesDoc},
	{Name: "Images", Wide: true, Field: "spec.template.spec.containers[*].image", Doc: podspec.ImagesDoc},
	{Name: "Selector", Wide: true, Field: "spec.selector"},
}
