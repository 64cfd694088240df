// Package scheduling has the rules of PriorityClasses, and the two classes that every server has.
package scheduling

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// Definitions returns the row of PriorityClasses.
func Definitions() []*resource.Definition {
	return []*resource.Definition{{
		Object: &schedulingv1.PriorityClass{}, ShortNames: []string{"pc"},
		Strategy: classStrategy, Default: defaultClass, Columns: classColumns,
	}}
}

var classStrategy = resource.Typed[*schedulingv1.PriorityClass]{
	Prepare: func(c *schedulingv1.PriorityClass) { c.Generation = 1 },
	Name:    apivalidation.NameIsDNSSubdomain, ClusterScoped: true, Check: checkClass,
	CheckUpdate: func(c, old *schedulingv1.PriorityClass) field.ErrorList {
		return append(rules.Forbidden(c.Value != old.Value, field.NewPath("value"), "may not be changed in an update."),
			apivalidation.ValidateImmutableField(
				c.PreemptionPolicy, old.PreemptionPolicy, field.NewPath("preemptionPolicy"))...)
	},
}

func defaultClass(obj runtime.Object) {
	resource.Default(&obj.(*schedulingv1.PriorityClass).PreemptionPolicy, corev1.PreemptLowerPriority)
}

const (
	systemPrefix = "system-"
	// maxUserValue is the highest priority that users may define.
	maxUserValue = 1_000_000_000
)

// SystemFields are the managed fields of System.
const SystemFields = `{"f:description":{},"f:preemptionPolicy":{},"f:value":{}}`

// System returns the classes that every server has.
func System() []*schedulingv1.PriorityClass {
	return []*schedulingv1.PriorityClass{
		{
			ObjectMeta:  metav1.ObjectMeta{Name: systemPrefix + "node-critical"},
			Value:       2*maxUserValue + 1000,
			Description: "Used for system critical pods that must not be moved from their current node.",
		},
		{
			ObjectMeta: metav1.ObjectMeta{Name: systemPrefix + "cluster-critical"},
			Value:      2 * maxUserValue,
			Description: "Used for system critical pods that must run in the cluster, but can be moved to another node if " +
				"necessary.",
		},
	}
}

func checkClass(c *schedulingv1.PriorityClass) (errs field.ErrorList) {
	isSystem := strings.HasPrefix(c.Name, systemPrefix)
	if isSystem {
		if err := checkSystem(c); err != nil {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"),
				"priority class names with '"+systemPrefix+"' prefix are reserved for system use only. error: "+err.Error()))
		}
	}
	return slices.Concat(errs,
		rules.Forbidden(!isSystem && c.Value > maxUserValue, field.NewPath("value"),
			fmt.Sprintf("maximum allowed value of a user defined priority is %v", maxUserValue)),
		rules.OneOf(ptr.Deref(c.PreemptionPolicy, corev1.PreemptNever), field.NewPath("preemptionPolicy"),
			corev1.PreemptLowerPriority, corev1.PreemptNever))
}

// checkSystem checks that a class is one of those that every server has.
func checkSystem(c *schedulingv1.PriorityClass) error {
	for _, known := range System() {
		switch {
		case known.Name != c.Name:
		case known.Value != c.Value:
			return fmt.Errorf("value of %v PriorityClass must be %v", c.Name, known.Value)
		case known.GlobalDefault != c.GlobalDefault:
			return fmt.Errorf("globalDefault of %v PriorityClass must be %v", c.Name, known.GlobalDefault)
		default:
			return nil
		}
	}
	return fmt.Errorf("%v is not a known system priority class", c.Name)
}

var classColumns = resource.Columns[*schedulingv1.PriorityClass]{
	{Name: "Value", Type: "integer", Field: "value"},
	{Name: "Global-Default", Type: "boolean", Field: "globalDefault"},
	{Name: "Age"},
	{Name: "PreemptionPolicy", Field: "preemptionPolicy"},
}
