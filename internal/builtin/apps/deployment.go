package apps

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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

var deploymentStrategy = podspec.WithWarnings(resource.Typed[*appsv1.Deployment]{
	Name: apivalidation.NameIsDNSSubdomain, CheckBoth: checkDeployment, Prepare: resource.Begin[*appsv1.Deployment],
	PrepareUpdate: func(d, old *appsv1.Deployment) {
		if resource.Follow(d, old); changed(d.Annotations, old.Annotations) {
			d.Generation = old.Generation + 1
		}
	},
	CheckUpdate: func(d, old *appsv1.Deployment) field.ErrorList {
		return rules.Constant(&d.Spec, &old.Spec, specPath, "selector")
	},
}, templatePath, func(d *appsv1.Deployment) *corev1.PodTemplateSpec { return &d.Spec.Template })

var deploymentStatus = resource.Typed[*appsv1.Deployment]{
	Name:          apivalidation.NameIsDNSSubdomain,
	PrepareUpdate: func(d, old *appsv1.Deployment) { d.Spec, d.Labels = old.Spec, old.Labels },
	CheckUpdate: func(d, old *appsv1.Deployment) field.ErrorList {
		s := &d.Status
		return slices.Concat(
			checkCounts(s),
			checkAtMost(s, "replicas", "status.replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
			checkAtMost(s, "readyReplicas", "readyReplicas", "availableReplicas"),
			checkCollisions(s.CollisionCount, old.Status.CollisionCount),
		)
	},
}

func defaultDeployment(obj runtime.Object) {
	d := &obj.(*appsv1.Deployment).Spec
	resource.Default(&d.Replicas, 1)
	resource.DefaultValue(&d.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if d.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		resource.Default(&d.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		resource.Default(&d.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		resource.Default(&d.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	resource.Default(&d.RevisionHistoryLimit, 10)
	resource.Default(&d.ProgressDeadlineSeconds, 600)
	podspec.DefaultTemplate(&d.Template)
}

func checkDeployment(d *appsv1.Deployment) field.ErrorList {
	spec, deadline := &d.Spec, d.Spec.ProgressDeadlineSeconds
	return slices.Concat(
		rules.NonNegatives(spec, specPath, "replicas"),
		checkReplicated(spec.Selector, &spec.Template),
		checkDeploymentStrategy(&spec.Strategy, specPath.Child("strategy")),
		rules.NonNegatives(spec, specPath, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"),
		rules.Invalid(deadline != nil && *deadline <= spec.MinReadySeconds, specPath.Child("progressDeadlineSeconds"),
			deadline, "must be greater than minReadySeconds"),
	)
}

func checkDeploymentStrategy(strategy *appsv1.DeploymentStrategy, path *field.Path) field.ErrorList {
	rolling := path.Child("rollingUpdate")
	switch strategy.Type {
	case appsv1.RecreateDeploymentStrategyType:
		return rules.Forbidden(strategy.RollingUpdate != nil, rolling,
			"may not be specified when strategy `type` is 'Recreate'")
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
		rules.Invalid(rules.NumberOf(unavailable) == 0 && rules.NumberOf(surge) == 0, path.Child("maxUnavailable"),
			unavailable, "may not be 0 when `maxSurge` is 0"),
		rules.PercentLimit(unavailable, path.Child("maxUnavailable")),
	)
}

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
