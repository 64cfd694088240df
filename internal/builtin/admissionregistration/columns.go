package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var webhookColumns = resource.Columns[runtime.Object]{
	{Name: "Webhooks", Type: "integer", Field: "webhooks",
		Doc: "Webhooks indicates the number of webhooks registered in this configuration"},
	{Name: "Age"},
}

const paramKindDoc = "ParamKind specifies the kind of resources used to parameterize this policy"

var validatingPolicyColumns = resource.Columns[*admissionregistrationv1.ValidatingAdmissionPolicy]{
	{Name: "Validations", Type: "integer", Field: "spec.validations",
		Doc: "Validations indicates the number of validation rules defined in this configuration"},
	{Name: "ParamKind", Doc: paramKindDoc, Cell: func(p *admissionregistrationv1.ValidatingAdmissionPolicy) any {
		return printParamKind(p.Spec.ParamKind)
	}},
	{Name: "Age"},
}

var mutatingPolicyColumns = resource.Columns[*admissionregistrationv1.MutatingAdmissionPolicy]{
	{Name: "Mutations", Type: "integer", Field: "spec.mutations",
		Doc: "Mutation indicates the number of mutations rules defined in this configuration"},
	{Name: "ParamKind", Doc: paramKindDoc, Cell: func(p *admissionregistrationv1.MutatingAdmissionPolicy) any {
		return printParamKind(p.Spec.ParamKind)
	}},
	{Name: "Age"},
}

var bindingColumns = resource.Columns[runtime.Object]{
	{Name: "PolicyName", Field: "spec.policyName",
		Doc: "PolicyName indicates the policy definition which the policy binding binded to"},
	{Name: "ParamRef", Doc: "ParamRef indicates the param resource which sets the configuration param",
		Cell: paramRefCell},
	{Name: "Age"},
}

const unset = "<unset>"

func printParamKind(kind *admissionregistrationv1.ParamKind) string {
	if kind == nil {
		return unset
	}
	return kind.APIVersion + "/" + kind.Kind
}

// paramRefCell prints the namespace "*" for a parameter without one, which may also be in no namespace.
func paramRefCell(binding runtime.Object) any {
	var ref *admissionregistrationv1.ParamRef
	switch binding := binding.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		ref = binding.Spec.ParamRef
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		ref = binding.Spec.ParamRef
	}
	switch {
	case ref == nil:
		return unset
	case ref.Name != "" && ref.Namespace != "":
		return ref.Namespace + "/" + ref.Name
	case ref.Name != "":
		return "*/" + ref.Name
	case ref.Selector != nil:
		return ref.Selector.String()
	}
	return unset
}
