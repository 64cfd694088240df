package apps

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var deploymentStrategy = resource.Typed[*appsv1.Deployment]{
	Prepare: resource.Begin[*appsv1.Deployment],
	Check: func(d *appsv1.Deployment) field.ErrorList {
		return append(resource.CheckMetadata(&d.ObjectMeta, apivalidation.NameIsDNSSubdomain), checkDeployment(&d.Spec)...)
	},
	Warn: func(d *appsv1.Deployment) []string {
		return append(podspec.NameWarnings(d.Name), podspec.TemplateWarnings(&d.Spec.Template, templatePath)...)
	},
	PrepareUpdate: func(d, old *appsv1.Deployment) {
		d.Status = old.Status
		if changed(d.Spec, old.Spec) || changed(d.Annotations, old.Annotations) {
			d.Generation = old.Generation + 1
		}
	},
	CheckUpdate: func(d, old *appsv1.Deployment) field.ErrorList {
		return slices.Concat(resource.CheckMetadataUpdate(&d.ObjectMeta, &old.ObjectMeta), checkDeployment(&d.Spec),
			checkConstant(d.Spec.Selector, old.Spec.Selector, "selector"))
	},
	WarnUpdate: resource.WhenChanged(func(d *appsv1.Deployment) []string {
		return podspec.TemplateWarnings(&d.Spec.Template, templatePath)
	}),
}

var deploymentStatus = resource.Typed[*appsv1.Deployment]{
	PrepareUpdate: func(d, old *appsv1.Deployment) { d.Spec, d.Labels = old.Spec, old.Labels },
	CheckUpdate: func(d, old *appsv1.Deployment) field.ErrorList {
		s := &d.Status
		ready, available := count{"readyReplicas", s.ReadyReplicas}, count{"availableReplicas", s.AvailableReplicas}
		return slices.Concat(
			resource.CheckMetadataUpdate(&d.ObjectMeta, &old.ObjectMeta),
			checkCounts(s),
			checkAtMost("status.replicas", s.Replicas, count{"updatedReplicas", s.UpdatedReplicas}, ready, available),
			checkAtMost("readyReplicas", s.ReadyReplicas, available),
			checkCollisions(s.CollisionCount, old.Status.CollisionCount),
		)
	},
}

func defaultDeployment(obj runtime.Object) {
	d := &obj.(*appsv1.Deployment).Spec
	resource.Default(&d.Replicas, 1)
	if d.Strategy.Type == "" {
		d.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	}
	if d.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		resource.Default(&d.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		resource.Default(&d.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		resource.Default(&d.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	resource.Default(&d.RevisionHistoryLimit, 10)
	resource.Default(&d.ProgressDeadlineSeconds, 600)
	podspec.DefaultTemplate(&d.Template)
}

func checkDeployment(spec *appsv1.DeploymentSpec) field.ErrorList {
	s := selection{
		kind: "deployment", selector: spec.Selector, template: &spec.Template, invalid: "invalid label selector",
		check: checkReplicated("ReplicaSet"),
	}
	deadline := spec.ProgressDeadlineSeconds
	return slices.Concat(
		checkNumber(ptr.Deref(spec.Replicas, 0), "replicas"),
		s.errors(),
		checkDeploymentStrategy(&spec.Strategy, specPath.Child("strategy")),
		checkNumber(spec.MinReadySeconds, "minReadySeconds"),
		checkNumber(ptr.Deref(spec.RevisionHistoryLimit, 0), "revisionHistoryLimit"),
		checkNumber(ptr.Deref(deadline, 0), "progressDeadlineSeconds"),
		rules.When(deadline != nil && *deadline <= spec.MinReadySeconds, field.Invalid(
			specPath.Child("progressDeadlineSeconds"), deadline, "must be greater than minReadySeconds")),
	)
}

func checkDeploymentStrategy(strategy *appsv1.DeploymentStrategy, path *field.Path) field.ErrorList {
	rolling := path.Child("rollingUpdate")
	switch strategy.Type {
	case appsv1.RecreateDeploymentStrategyType:
		return rules.When(strategy.RollingUpdate != nil,
			field.Forbidden(rolling, "may not be specified when strategy `type` is 'Recreate'"))
	case appsv1.RollingUpdateDeploymentStrategyType:
		return checkRollingDeployment(strategy.RollingUpdate, rolling)
	}
	return field.ErrorList{field.NotSupported(path, strategyValue{string(strategy.Type), strategy.RollingUpdate},
		[]appsv1.DeploymentStrategyType{
			appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType,
		})}
}

func checkRollingDeployment(rolling *appsv1.RollingUpdateDeployment, path *field.Path) field.ErrorList {
	unavailable, surge := rolling.MaxUnavailable, rolling.MaxSurge
	return slices.Concat(
		rules.IntOrPercent(unavailable, path.Child("maxUnavailable")),
		rules.IntOrPercent(surge, path.Child("maxSurge")),
		rules.When(rules.NumberOf(unavailable) == 0 && rules.NumberOf(surge) == 0,
			field.Invalid(path.Child("maxUnavailable"), unavailable, "may not be 0 when `maxSurge` is 0")),
		rules.PercentLimit(unavailable, path.Child("maxUnavailable")),
	)
}

var deploymentScale = resource.NewScale(
	func(d *appsv1.Deployment) (autoscalingv1.ScaleSpec, autoscalingv1.ScaleStatus, error) {
		return scaleOf(d.Spec.Replicas, d.Status.Replicas, d.Spec.Selector)
	},
	func(d *appsv1.Deployment, replicas int32) { d.Spec.Replicas = &replicas },
)

const readyDoc = "Number of the pod with ready state"

var deploymentColumns = resource.Columns[*appsv1.Deployment]{
	{Name: "Ready", Doc: readyDoc, Cell: func(d *appsv1.Deployment) any {
		return fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, ptr.Deref(d.Spec.Replicas, 0))
	}},
	{Name: "Up-to-date", Field: "status.updatedReplicas"},
	{Name: "Available", Field: "status.availableReplicas"},
	{Name: "Age"},
	{Name: "Containers", Wide: true, Field: "spec.template.spec.containers[*].name", Doc: podspec.NamesDoc},
	{Name: "Images", Wide: true, Field: "spec.template.spec.containers[*].image", Doc: podspec.ImagesDoc},
	{Name: "Selector", Wide: true, Field: "spec.selector", Cell: func(d *appsv1.Deployment) any {
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		if err != nil {
			return "<invalid>"
		}
		return selector.String()
	}},
}
