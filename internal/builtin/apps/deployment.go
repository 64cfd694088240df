package apps

import (
	"fmt"

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
	Prepare: func(d *appsv1.Deployment) { d.Status, d.Generation = appsv1.DeploymentStatus{}, 1 },
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
		errs := append(resource.CheckMetadataUpdate(&d.ObjectMeta, &old.ObjectMeta), checkDeployment(&d.Spec)...)
		return append(errs,
			apivalidation.ValidateImmutableField(d.Spec.Selector, old.Spec.Selector, specPath.Child("selector"))...)
	},
	WarnUpdate: func(d, old *appsv1.Deployment) []string {
		if d.Generation == old.Generation {
			return nil
		}
		return podspec.TemplateWarnings(&d.Spec.Template, templatePath)
	},
}

var deploymentStatus = resource.Typed[*appsv1.Deployment]{
	PrepareUpdate: func(d, old *appsv1.Deployment) { d.Spec, d.Labels = old.Spec, old.Labels },
	CheckUpdate: func(d, old *appsv1.Deployment) field.ErrorList {
		errs := resource.CheckMetadataUpdate(&d.ObjectMeta, &old.ObjectMeta)
		errs = append(errs, checkDeploymentStatus(&d.Status)...)
		return append(errs, checkCollisions(d.Status.CollisionCount, old.Status.CollisionCount)...)
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
	errs := apivalidation.ValidateNonnegativeField(int64(ptr.Deref(spec.Replicas, 0)), specPath.Child("replicas"))
	s := selection{
		kind: "deployment", selector: spec.Selector, template: &spec.Template, invalid: "invalid label selector",
		check: checkReplicated("ReplicaSet"),
	}
	errs = append(errs, s.errors()...)
	errs = append(errs, checkDeploymentStrategy(&spec.Strategy, specPath.Child("strategy"))...)
	errs = append(errs,
		apivalidation.ValidateNonnegativeField(int64(spec.MinReadySeconds), specPath.Child("minReadySeconds"))...)
	if limit := spec.RevisionHistoryLimit; limit != nil {
		errs = append(errs, apivalidation.ValidateNonnegativeField(int64(*limit), specPath.Child("revisionHistoryLimit"))...)
	}
	deadline, path := spec.ProgressDeadlineSeconds, specPath.Child("progressDeadlineSeconds")
	if deadline == nil {
		return errs
	}
	errs = append(errs, apivalidation.ValidateNonnegativeField(int64(*deadline), path)...)
	if *deadline <= spec.MinReadySeconds {
		errs = append(errs, field.Invalid(path, deadline, "must be greater than minReadySeconds"))
	}
	return errs
}

func checkDeploymentStrategy(strategy *appsv1.DeploymentStrategy, path *field.Path) field.ErrorList {
	rolling := path.Child("rollingUpdate")
	switch strategy.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if strategy.RollingUpdate != nil {
			return field.ErrorList{field.Forbidden(rolling, "may not be specified when strategy `type` is 'Recreate'")}
		}
		return nil
	case appsv1.RollingUpdateDeploymentStrategyType:
		return checkRollingDeployment(strategy.RollingUpdate, rolling)
	}
	return field.ErrorList{field.NotSupported(path, strategyValue{string(strategy.Type), strategy.RollingUpdate},
		[]appsv1.DeploymentStrategyType{
			appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType,
		})}
}

func checkRollingDeployment(rolling *appsv1.RollingUpdateDeployment, path *field.Path) field.ErrorList {
	unavailable := path.Child("maxUnavailable")
	errs := rules.IntOrPercent(rolling.MaxUnavailable, unavailable)
	errs = append(errs, rules.IntOrPercent(rolling.MaxSurge, path.Child("maxSurge"))...)
	if rules.NumberOf(rolling.MaxUnavailable) == 0 && rules.NumberOf(rolling.MaxSurge) == 0 {
		errs = append(errs, field.Invalid(unavailable, *rolling.MaxUnavailable, "may not be 0 when `maxSurge` is 0"))
	}
	return append(errs, rules.PercentLimit(rolling.MaxUnavailable, unavailable)...)
}

func checkDeploymentStatus(s *appsv1.DeploymentStatus) field.ErrorList {
	available := count{"availableReplicas", int64(s.AvailableReplicas)}
	updated, ready := count{"updatedReplicas", int64(s.UpdatedReplicas)}, count{"readyReplicas", int64(s.ReadyReplicas)}
	errs := checkCounts(count{"observedGeneration", s.ObservedGeneration}, count{"replicas", int64(s.Replicas)}, updated,
		ready, available, count{"unavailableReplicas", int64(s.UnavailableReplicas)},
		count{"terminatingReplicas", int64(ptr.Deref(s.TerminatingReplicas, 0))},
		count{"collisionCount", int64(ptr.Deref(s.CollisionCount, 0))})
	errs = append(errs, checkAtMost(count{"status.replicas", int64(s.Replicas)}, updated, ready, available)...)
	return append(errs, checkAtMost(ready, available)...)
}

var deploymentScale = resource.NewScale(
	func(d *appsv1.Deployment) (autoscalingv1.ScaleSpec, autoscalingv1.ScaleStatus, error) {
		return scaleOf(d.Spec.Replicas, d.Status.Replicas, d.Spec.Selector)
	},
	func(d *appsv1.Deployment, replicas int32) { d.Spec.Replicas = &replicas },
)

var deploymentColumns = &resource.Columns{
	Definitions: columnsWith([]metav1.TableColumnDefinition{
		{Name: "Ready", Type: "string", Description: "Number of the pod with ready state"},
		{Name: "Up-to-date", Type: "string", Description: appsv1.DeploymentStatus{}.SwaggerDoc()["updatedReplicas"]},
		{Name: "Available", Type: "string", Description: appsv1.DeploymentStatus{}.SwaggerDoc()["availableReplicas"]},
	}, selectorColumn(appsv1.DeploymentSpec{}.SwaggerDoc()["selector"])),
	Cells: func(obj runtime.Object) []any {
		d := obj.(*appsv1.Deployment)
		cells := append([]any{
			d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, ptr.Deref(d.Spec.Replicas, 0)),
			int64(d.Status.UpdatedReplicas), int64(d.Status.AvailableReplicas), resource.Age(d),
		}, podspec.ContainerCells(&d.Spec.Template.Spec)...)
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		if err != nil {
			return append(cells, "<invalid>")
		}
		return append(cells, selector.String())
	},
}
