package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var webhooksColumn = metav1.TableColumnDefinition{
	Name: "Webhooks", Type: "integer",
	Description: "Webhooks indicates the number of webhooks registered in this configuration",
}

var validatingWebhookColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{resource.NameColumn, webhooksColumn, resource.AgeColumn},
	Cells: func(obj runtime.Object) []any {
		c := obj.(*admissionregistrationv1.ValidatingWebhookConfiguration)
		return []any{c.Name, int64(len(c.Webhooks)), resource.Age(c)}
	},
}

var mutatingWebhookColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{resource.NameColumn, webhooksColumn, resource.AgeColumn},
	Cells: func(obj runtime.Object) []any {
		c := obj.(*admissionregistrationv1.MutatingWebhookConfiguration)
		return []any{c.Name, int64(len(c.Webhooks)), resource.Age(c)}
	},
}

var paramKindColumn = metav1.TableColumnDefinition{
	Name: "ParamKind", Type: "string",
	Description: "ParamKind specifies the kind of resources used to parameterize this policy",
}

var validatingPolicyColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{
			Name: "Validations", Type: "integer",
			Description: "Validations indicates the number of validation rules defined in this configuration",
		},
		paramKindColumn,
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		p := obj.(*admissionregistrationv1.ValidatingAdmissionPolicy)
		return []any{p.Name, int64(len(p.Spec.Validations)), printParamKind(p.Spec.ParamKind), resource.Age(p)}
	},
}

var mutatingPolicyColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{
			Name: "Mutations", Type: "integer",
			Description: "Mutation indicates the number of mutations rules defined in this configuration",
		},
		paramKindColumn,
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		p := obj.(*admissionregistrationv1.MutatingAdmissionPolicy)
		return []any{p.Name, int64(len(p.Spec.Mutations)), printParamKind(p.Spec.ParamKind), resource.Age(p)}
	},
}

var bindingColumns = []metav1.TableColumnDefinition{
	resource.NameColumn,
	{
		Name: "PolicyName", Type: "string",
		Description: "PolicyName indicates the policy definition which the policy binding binded to",
	},
	{
		Name: "ParamRef", Type: "string",
		Description: "ParamRef indicates the param resource which sets the configuration param",
	},
	resource.AgeColumn,
}

var validatingBindingColumns = &resource.Columns{
	Definitions: bindingColumns,
	Cells: func(obj runtime.Object) []any {
		b := obj.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding)
		return []any{b.Name, b.Spec.PolicyName, printParamRef(b.Spec.ParamRef), resource.Age(b)}
	},
}

var mutatingBindingColumns = &resource.Columns{
	Definitions: bindingColumns,
	Cells: func(obj runtime.Object) []any {
		b := obj.(*admissionregistrationv1.MutatingAdmissionPolicyBinding)
		return []any{b.Name, b.Spec.PolicyName, printParamRef(b.Spec.ParamRef), resource.Age(b)}
	},
}

const unset = "<unset>"

func printParamKind(kind *admissionregistrationv1.ParamKind) string {
	if kind == nil {
		return unset
	}
	return kind.APIVersion + "/" + kind.Kind
}

// printParamRef prints the namespace "*" for a parameter without one, which may also be in no namespace.
func printParamRef(ref *admissionregistrationv1.ParamRef) string {
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
