package network

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

func checkIngressCreate(obj *networkingv1.Ingress) field.ErrorList {
	errs := checkIngress(obj)
	value, found := obj.Annotations[IngressClassAnnotation]
	if class := obj.Spec.IngressClassName; found && class != nil && value != *class {
		errs = append(errs, field.Invalid(field.NewPath("annotations").Child(IngressClassAnnotation), value,
			"must match `ingressClassName` when both are specified"))
	}
	return errs
}

func checkIngressUpdate(obj, old *networkingv1.Ingress) field.ErrorList {
	errs := resource.CheckMetadataUpdate(obj, old)
	return append(errs, checkIngress(obj)...)
}

func checkIngress(obj *networkingv1.Ingress) field.ErrorList {
	spec := &obj.Spec
	return slices.Concat(
		resource.CheckMetadata(obj, apivalidation.NameIsDNSSubdomain),
		rules.When(len(spec.Rules) == 0 && spec.DefaultBackend == nil,
			field.Invalid(specPath, spec.Rules, "either `defaultBackend` or `rules` must be specified")),
		rules.Optional(spec.DefaultBackend, specPath.Child("defaultBackend"), checkBackend),
		rules.Each(spec.Rules, specPath.Child("rules"), checkIngressRule),
		rules.Each(spec.TLS, specPath.Child("tls"), checkTLS),
		rules.Optional(spec.IngressClassName, specPath.Child("ingressClassName"), rules.Subdomain),
	)
}

func checkTLS(tls *networkingv1.IngressTLS, path *field.Path) (errs field.ErrorList) {
	for n, host := range tls.Hosts {
		errs = append(errs, checkHost(host, path.Child("hosts").Index(n))...)
	}
	return append(errs, rules.Name(tls.SecretName, path.Child("secretName"), apivalidation.NameIsDNSSubdomain)...)
}

func checkIngressRule(rule *networkingv1.IngressRule, path *field.Path) (errs field.ErrorList) {
	if host := path.Child("host"); rule.Host != "" {
		errs = append(refuseIP(rule.Host, host), checkHost(rule.Host, host)...)
	}
	if rule.HTTP == nil {
		return errs
	}
	path = path.Child("http", "paths")
	errs = append(errs, rules.When(len(rule.HTTP.Paths) == 0, field.Required(path, ""))...)
	return append(errs, rules.Each(rule.HTTP.Paths, path, checkHTTPPath)...)
}

// checkHost returns the errors of a host that may begin with a wildcard.
func checkHost(host string, path *field.Path) field.ErrorList {
	if strings.Contains(host, "*") {
		return rules.Messages(path, host, validation.IsWildcardDNS1123Subdomain(host))
	}
	return rules.Subdomain(host, path)
}

// Parts of paths that would mean another path.
var (
	ambiguousParts    = []string{"//", "/./", "/../", "%2f", "%2F"}
	ambiguousSuffixes = []string{"/..", "/."}
)

func checkHTTPPath(http *networkingv1.HTTPIngressPath, path *field.Path) (errs field.ErrorList) {
	if http.PathType == nil {
		return field.ErrorList{field.Required(path.Child("pathType"), "pathType must be specified")}
	}
	at := path.Child("path")
	refuse := func(is bool, message string) {
		errs = append(errs, rules.When(is, field.Invalid(at, http.Path, message))...)
	}
	isAbsolute := strings.HasPrefix(http.Path, "/")
	switch *http.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		refuse(!isAbsolute, "must be an absolute path")
		for _, part := range ambiguousParts {
			refuse(strings.Contains(http.Path, part), fmt.Sprintf("must not contain '%s'", part))
		}
		for _, suffix := range ambiguousSuffixes {
			refuse(strings.HasSuffix(http.Path, suffix), fmt.Sprintf("cannot end with '%s'", suffix))
		}
	case networkingv1.PathTypeImplementationSpecific:
		refuse(http.Path != "" && !isAbsolute, "must be an absolute path")
	default:
		errs = rules.Known(*http.PathType, path.Child("pathType"),
			networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix)
	}
	return append(errs, checkBackend(http.Backend, path.Child("backend"))...)
}

func checkBackend(backend networkingv1.IngressBackend, path *field.Path) field.ErrorList {
	switch {
	case backend.Resource != nil && backend.Service != nil:
		return field.ErrorList{field.Invalid(path, "", "cannot set both resource and service backends")}
	case backend.Resource != nil:
		return checkResourceBackend(backend.Resource, path.Child("resource"))
	case backend.Service != nil:
		return checkServiceBackend(backend.Service, path)
	}
	return field.ErrorList{field.Invalid(path, "", "resource or service backend is required")}
}

func checkResourceBackend(ref *corev1.TypedLocalObjectReference, path *field.Path) field.ErrorList {
	segment := func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	return slices.Concat(
		rules.Optional(ref.APIGroup, path.Child("apiGroup"), rules.Subdomain),
		rules.RequiredName(ref.Kind, path.Child("kind"), segment),
		rules.RequiredName(ref.Name, path.Child("name"), segment),
	)
}

func checkServiceBackend(service *networkingv1.IngressServiceBackend, path *field.Path) field.ErrorList {
	errs := rules.RequiredLabel(service.Name, path.Child("service", "name"))
	port, at := service.Port, path.Child("service", "port")
	switch {
	case port.Name != "" && port.Number != 0:
		return append(errs, field.Invalid(path, "", "cannot set both port name & port number"))
	case port.Name != "":
		return append(errs, rules.Port(intstr.FromString(port.Name), at.Child("name"))...)
	case port.Number != 0:
		return append(errs, checkPort(port.Number, at.Child("number"))...)
	}
	return append(errs, field.Required(path, "port name or number is required"))
}
