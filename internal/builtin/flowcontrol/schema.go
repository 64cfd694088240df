package flowcontrol

import (
	"fmt"
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

const (
	// defaultPrecedence is the precedence of a schema that names none.
	defaultPrecedence = 1000
	// maxPrecedence is that of the schema that is asked last.
	maxPrecedence = 10000
)

var (
	specPath   = field.NewPath("spec")
	statusPath = field.NewPath("status")
)

func defaultSchema(obj runtime.Object) {
	if spec := &obj.(*flowcontrolv1.FlowSchema).Spec; spec.MatchingPrecedence == 0 {
		spec.MatchingPrecedence = defaultPrecedence
	}
}

var schemaRules = resource.Typed[*flowcontrolv1.FlowSchema]{
	Prepare: func(s *flowcontrolv1.FlowSchema) {
		s.Status, s.Generation = flowcontrolv1.FlowSchemaStatus{}, 1
	},
	Check: checkSchema,
	PrepareUpdate: func(s, old *flowcontrolv1.FlowSchema) {
		s.Status = old.Status
		if !equality.Semantic.DeepEqual(s.Spec, old.Spec) {
			s.Generation = old.Generation + 1
		}
	},
	CheckUpdate: func(s, _ *flowcontrolv1.FlowSchema) field.ErrorList { return checkSchema(s) },
}

var schemaStatusRules = resource.Typed[*flowcontrolv1.FlowSchema]{
	PrepareUpdate: func(s, old *flowcontrolv1.FlowSchema) {
		keepMetadata(&s.ObjectMeta, &old.ObjectMeta)
		s.Spec = old.Spec
	},
	CheckUpdate: func(s, _ *flowcontrolv1.FlowSchema) field.ErrorList {
		var types []string
		for n := range s.Status.Conditions {
			types = append(types, string(s.Status.Conditions[n].Type))
		}
		return checkConditionTypes(types)
	},
}

// keepMetadata restores all metadata but the managed fields.
func keepMetadata(m, old *metav1.ObjectMeta) {
	fields := m.ManagedFields
	old.DeepCopyInto(m)
	m.ManagedFields = fields
}

// checkConditionTypes checks that each condition has a type, and no other condition has it.
func checkConditionTypes(types []string) (errs field.ErrorList) {
	seen := map[string]bool{}
	for n, kind := range types {
		path := statusPath.Child("conditions").Index(n).Child("type")
		if seen[kind] {
			errs = append(errs, field.Duplicate(path, kind))
		}
		seen[kind] = true
		if kind == "" {
			errs = append(errs, field.Required(path, ""))
		}
	}
	return errs
}

// checkSchema checks a schema. The two that kube-apiserver needs cannot be changed.
func checkSchema(s *flowcontrolv1.FlowSchema) field.ErrorList {
	errs := resource.CheckClusterMetadata(&s.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	spec := &s.Spec
	errs = append(errs, checkPrecedence(s)...)
	if method := spec.DistinguisherMethod; method != nil {
		known := []flowcontrolv1.FlowDistinguisherMethodType{
			flowcontrolv1.FlowDistinguisherMethodByNamespaceType, flowcontrolv1.FlowDistinguisherMethodByUserType,
		}
		if !slices.Contains(known, method.Type) {
			path := specPath.Child("distinguisherMethod", "type")
			errs = append(errs, field.NotSupported(path, method, known))
		}
	}
	level := specPath.Child("priorityLevelConfiguration", "name")
	if name := spec.PriorityLevelConfiguration.Name; name == "" {
		errs = append(errs, field.Required(level, "must reference a priority level"))
	} else {
		for _, text := range apivalidation.NameIsDNSSubdomain(name, false) {
			errs = append(errs, field.Invalid(level, name, text))
		}
	}
	for n := range spec.Rules {
		errs = append(errs, checkRule(&spec.Rules[n], specPath.Child("rules").Index(n))...)
	}
	for _, fixed := range bootstrap.MandatoryFlowSchemas {
		if fixed.Name == s.Name && !equality.Semantic.DeepEqual(fixed.Spec, *spec) {
			text := fmt.Sprintf("spec of '%s' must equal the fixed value", s.Name)
			errs = append(errs, field.Invalid(specPath, *spec, text))
		}
	}
	return errs
}

func checkPrecedence(s *flowcontrolv1.FlowSchema) (errs field.ErrorList) {
	path, precedence := specPath.Child("matchingPrecedence"), s.Spec.MatchingPrecedence
	switch {
	case precedence <= 0:
		errs = append(errs, field.Invalid(path, precedence, "must be a positive value"))
	case precedence > maxPrecedence:
		errs = append(errs, field.Invalid(path, precedence, fmt.Sprintf("must not be greater than %d", maxPrecedence)))
	case precedence == 1 && s.Name != flowcontrolv1.FlowSchemaNameExempt:
		const text = "only the schema named 'exempt' may have matchingPrecedence 1"
		errs = append(errs, field.Invalid(path, precedence, text))
	}
	return errs
}
