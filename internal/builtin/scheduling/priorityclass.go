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
	Check:   checkClass,
	CheckUpdate: func(c, old *schedulingv1.PriorityClass) field.ErrorList {
		errs := resource.CheckMetadataUpdate(&c.ObjectMeta, &old.ObjectMeta)
		if c.Value != old.Value {
			errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
		}
		return append(errs, apivalidation.ValidateImmutableField(
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

func checkClass(c *schedulingv1.PriorityClass) field.ErrorList {
	errs := resource.CheckClusterMetadata(&c.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	if strings.HasPrefix(c.Name, systemPrefix) {
		if err := checkSystem(c); err != nil {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"),
				"priority class names with '"+systemPrefix+"' prefix are reserved for system use only. error: "+err.Error()))
		}
	} else if c.Value > maxUserValue {
		errs = append(errs, field.Forbidden(field.NewPath("value"),
			fmt.Sprintf("maximum allowed value of a user defined priority is %v", maxUserValue)))
	}
	known := []corev1.PreemptionPolicy{corev1.PreemptLowerPriority, corev1.PreemptNever}
	switch policy, path := ptr.Deref(c.PreemptionPolicy, corev1.PreemptNever), field.NewPath("preemptionPolicy"); {
	case policy == "":
		errs = append(errs, field.Required(path, ""))
	case !slices.Contains(known, policy):
		errs = append(errs, field.NotSupported(path, policy, known))
	}
	return errs
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
