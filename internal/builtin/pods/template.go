package pods

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var templatePath = field.NewPath("template")

var templateStrategy = resource.Typed[*corev1.PodTemplate]{
	Name:    apivalidation.NameIsDNSSubdomain,
	Prepare: func(template *corev1.PodTemplate) { template.Generation = 1 },
	CheckBoth: func(template *corev1.PodTemplate) field.ErrorList {
		return podspec.CheckTemplate(&template.Template, templatePath)
	},
	Warn: warnAboutTemplate,
	PrepareUpdate: func(template, old *corev1.PodTemplate) {
		if !equality.Semantic.DeepEqual(template.Template, old.Template) {
			template.Generation = old.Generation + 1
		}
	},
	WarnUpdate: resource.WhenChanged(warnAboutTemplate),
}

func warnAboutTemplate(template *corev1.PodTemplate) []string {
	return podspec.TemplateWarnings(&template.Template, templatePath)
}

func defaultTemplate(obj runtime.Object) {
	podspec.DefaultTemplate(&obj.(*corev1.PodTemplate).Template)
}

var templateColumns = resource.Columns[*corev1.PodTemplate]{
	{Name: "Containers", Field: "template.spec.containers[*].name", Doc: podspec.NamesDoc},
	{Name: "Images", Field: "template.spec.containers[*].image", Doc: podspec.ImagesDoc},
	{Name: "Pod Labels", Field: "template.metadata.labels", Doc: "The labels for the pod template."},
}
