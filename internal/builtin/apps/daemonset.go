package apps

import (
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var daemonStrategy = resource.Typed[*appsv1.DaemonSet]{
	Name: apivalidation.NameIsDNSSubdomain, Prepare: prepareDaemonSet, Check: checkDaemonSet,
	Warn:          func(d *appsv1.DaemonSet) []string { return podspec.TemplateWarnings(&d.Spec.Template, templatePath) },
	PrepareUpdate: prepareDaemonSetUpdate,
	CheckUpdate: func(d, old *appsv1.DaemonSet) field.ErrorList {
		return append(rules.Constant(&d.Spec, &old.Spec, specPath, "selector"), checkDaemonSet(d)...)
	},
	WarnUpdate: func(d, old *appsv1.DaemonSet) []string {
		if d.Annotations[appsv1.DeprecatedTemplateGeneration] == old.Annotations[appsv1.DeprecatedTemplateGeneration] {
			return nil
		}
		return podspec.TemplateWarnings(&d.Spec.Template, templatePath)
	},
}

var daemonStatus = resource.Typed[*appsv1.DaemonSet]{
	Name: apivalidation.NameIsDNSSubdomain,
	PrepareUpdate: func(d, old *appsv1.DaemonSet) {
		d.Spec = old.Spec
		setTemplateGeneration(d, templateGeneration(old))
	},
	CheckUpdate: func(d, old *appsv1.DaemonSet) field.ErrorList {
		return append(checkCounts(&d.Status), checkCollisions(d.Status.CollisionCount, old.Status.CollisionCount)...)
	},
}

// templateGeneration returns how often the template of a DaemonSet was written. It was a field of older versions;
// apps/v1 has it as an annotation.
func templateGeneration(d *appsv1.DaemonSet) int64 {
	generation, err := strconv.ParseInt(d.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return 0
	}
	return generation
}

func setTemplateGeneration(d *appsv1.DaemonSet, generation int64) {
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, appsv1.DeprecatedTemplateGeneration, strconv.FormatInt(generation, 10))
}

func prepareDaemonSet(d *appsv1.DaemonSet) {
	resource.Begin(d)
	setTemplateGeneration(d, max(templateGeneration(d), 1))
}

// prepareDaemonSetUpdate counts changes of the template in an annotation, which only the server writes.
func prepareDaemonSetUpdate(d, old *appsv1.DaemonSet) {
	generation := templateGeneration(old)
	if changed(d.Spec.Template, old.Spec.Template) {
		generation++
	}
	resource.Follow(d, old)
	setTemplateGeneration(d, generation)
}

func defaultDaemonSet(obj runtime.Object) {
	d := obj.(*appsv1.DaemonSet)
	setTemplateGeneration(d, templateGeneration(d))
	spec := &d.Spec
	strategy := &spec.UpdateStrategy
	resource.DefaultValue(&strategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if strategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		resource.Default(&strategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		resource.Default(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		resource.Default(&strategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	resource.Default(&spec.RevisionHistoryLimit, 10)
	podspec.DefaultTemplate(&spec.Template)
}

func checkDaemonSet(d *appsv1.DaemonSet) field.ErrorList {
	spec := &d.Spec
	errs := metav1validation.ValidateLabelSelector(spec.Selector, metav1validation.LabelSelectorValidationOptions{},
		specPath.Child("selector"))
	if selector, err := metav1.LabelSelectorAsSelector(spec.Selector); err == nil {
		errs = append(errs, checkMatch(selector, &spec.Template)...)
	}
	return slices.Concat(errs,
		checkNotEmpty(spec.Selector, "daemonset"),
		checkEndlessTemplate(&spec.Template, "DaemonSet"),
		rules.NonNegatives(spec, specPath, "minReadySeconds"),
		checkDaemonStrategy(&spec.UpdateStrategy, specPath.Child("updateStrategy")),
		rules.NonNegatives(spec, specPath, "revisionHistoryLimit"),
	)
}

func checkDaemonStrategy(strategy *appsv1.DaemonSetUpdateStrategy, path *field.Path) field.ErrorList {
	switch strategy.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return nil
	case appsv1.RollingUpdateDaemonSetStrategyType:
		return checkRollingDaemonSet(strategy.RollingUpdate, path.Child("rollingUpdate"))
	}
	return field.ErrorList{field.NotSupported(path, strategyValue{string(strategy.Type), strategy.RollingUpdate},
		[]appsv1.DaemonSetUpdateStrategyType{
			appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType,
		})}
}

func checkRollingDaemonSet(rolling *appsv1.RollingUpdateDaemonSet, path *field.Path) field.ErrorList {
	unavailable, surge := path.Child("maxUnavailable"), path.Child("maxSurge")
	mayMiss, mayExceed := rules.NumberOf(rolling.MaxUnavailable) != 0, rules.NumberOf(rolling.MaxSurge) != 0
	return slices.Concat(
		rules.IntOrPercent(rolling.MaxUnavailable, unavailable), rules.IntOrPercent(rolling.MaxSurge, surge),
		rules.PercentLimit(rolling.MaxUnavailable, unavailable), rules.PercentLimit(rolling.MaxSurge, surge),
		rules.Invalid(mayMiss && mayExceed, surge, rolling.MaxSurge, "may not be set when maxUnavailable is non-zero"),
		rules.Missing(!mayMiss && !mayExceed, unavailable, "cannot be 0 when maxSurge is 0"),
	)
}

var daemonColumns = resource.Columns[*appsv1.DaemonSet]{
	{Name: "Desired", Type: "integer", Field: "status.desiredNumberScheduled"},
	{Name: "Current", Type: "integer", Field: "status.currentNumberScheduled"},
	{Name: "Ready", Type: "integer", Field: "status.numberReady"},
	{Name: "Up-to-date", Type: "integer", Field: "status.updatedNumberScheduled"},
	{Name: "Available", Type: "integer", Field: "status.numberAvailable"},
	{Name: "Node Selector", Field: "spec.template.spec.nodeSelector"},
	{Name: "Age"},
	{Name: "Containers", Wide: true, Field: "spec.template.spec.containers[*].name", Doc: podspec.NamesDoc},
	{Name: "Images", Wide: true, Field: "spec.template.spec.containers[*].image", Doc: podspec.ImagesDoc},
	{Name: "Selector", Wide: true, Field: "spec.selector"},
}
