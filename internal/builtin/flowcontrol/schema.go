package flowcontrol

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// defaultPrecedence is the precedence of a schema that names none.
const defaultPrecedence = 1000

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

func checkSchema(s *flowcontrolv1.FlowSchema) field.ErrorList {
	return resource.CheckClusterMetadata(&s.ObjectMeta, apivalidation.NameIsDNSSubdomain)
}

var schemaStatusRules = resource.Typed[*flowcontrolv1.FlowSchema]{
	PrepareUpdate: func(s, old *flowcontrolv1.FlowSchema) {
		metav1.ResetObjectMetaForStatus(&s.ObjectMeta, &old.ObjectMeta)
		s.Spec = old.Spec
	},
}
