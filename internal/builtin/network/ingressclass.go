package network

import (
	networkingv1 "k8s.io/api/networking/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// maxControllerLength is the length of the name of an IngressClass' controller.
const maxControllerLength = 250

func ingressClassDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &networkingv1.IngressClass{}, Default: defaultIngressClass, Columns: ingressClassColumns,
		Strategy: resource.Typed[*networkingv1.IngressClass]{
			Prepare: func(obj *networkingv1.IngressClass) { obj.Generation = 1 },
			Check:   checkIngressClass,
			PrepareUpdate: func(obj, old *networkingv1.IngressClass) {
				if !apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
					obj.Generation = old.Generation + 1
				}
			},
			CheckUpdate: func(obj, old *networkingv1.IngressClass) field.ErrorList {
				errs := resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
				path := field.NewPath("spec", "controller")
				errs = append(errs, apivalidation.ValidateImmutableField(obj.Spec.Controller, old.Spec.Controller, path)...)
				return append(errs, checkIngressClass(obj)...)
			},
		},
	}
}

func defaultIngressClass(obj runtime.Object) {
	if parameters := obj.(*networkingv1.IngressClass).Spec.Parameters; parameters != nil && parameters.Scope == nil {
		parameters.Scope = new(networkingv1.IngressClassParametersReferenceScopeCluster)
	}
}

func checkIngressClass(obj *networkingv1.IngressClass) field.ErrorList {
	errs := resource.CheckClusterMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	path := field.NewPath("spec", "controller")
	if len(obj.Spec.Controller) > maxControllerLength {
		errs = append(errs, field.TooLong(path, "", maxControllerLength))
	}
	errs = append(errs, validation.IsDomainPrefixedPath(path, obj.Spec.Controller)...)
	return append(errs, checkParameters(obj.Spec.Parameters, field.NewPath("spec", "parameters"))...)
}

func checkParameters(ref *networkingv1.IngressClassParametersReference, path *field.Path) (errs field.ErrorList) {
	if ref == nil {
		return nil
	}
	errs = checkGroup(ref.APIGroup, path.Child("apiGroup"))
	errs = append(errs, checkRequiredSegment(path.Child("kind"), ref.Kind)...)
	errs = append(errs, checkRequiredSegment(path.Child("name"), ref.Name)...)
	if ref.Scope == nil {
		return append(errs, field.Required(path.Child("scope"), ""))
	}
	namespace := path.Child("namespace")
	switch *ref.Scope {
	case networkingv1.IngressClassParametersReferenceScopeNamespace:
		if ref.Namespace == nil {
			return append(errs, field.Required(namespace, "`parameters.scope` is set to 'Namespace'"))
		}
		return append(errs, rules.Label(*ref.Namespace, namespace)...)
	case networkingv1.IngressClassParametersReferenceScopeCluster:
		if ref.Namespace != nil {
			errs = append(errs, field.Forbidden(namespace, "`parameters.scope` is set to 'Cluster'"))
		}
		return errs
	}
	return append(errs, rules.Known(*ref.Scope, path.Child("scope"),
		networkingv1.IngressClassParametersReferenceScopeCluster,
		networkingv1.IngressClassParametersReferenceScopeNamespace)...)
}

// checkRequiredSegment returns the errors of a part of a reference that is a segment of a path.
func checkRequiredSegment(path *field.Path, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{resource.Missing(path)}
	}
	return rules.Messages(path, value, content.IsPathSegmentName(value))
}

var ingressClassColumns = resource.Columns[*networkingv1.IngressClass]{
	{Name: "Name", Cell: func(class *networkingv1.IngressClass) any {
		if isDefaultClass(class) {
			return class.Name + " (default)"
		}
		return class.Name
	}},
	{Name: "Controller", Field: "spec.controller", Doc: "Controller that is responsible for handling this class"},
	{Name: "Parameters", Doc: "A reference to a resource with additional parameters", Cell: parametersCell},
	{Name: "Age"},
}

func parametersCell(class *networkingv1.IngressClass) any {
	ref := class.Spec.Parameters
	switch {
	case ref == nil:
		return none
	case ref.APIGroup != nil:
		return ref.Kind + "." + *ref.APIGroup + "/" + ref.Name
	}
	return ref.Kind + "/" + ref.Name
}
