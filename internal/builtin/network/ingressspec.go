package network

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func checkIngressCreate(obj *networkingv1.Ingress) field.ErrorList {
	errs := checkIngress(obj, nil)
	value, found := obj.Annotations[ingressClassAnnotation]
	if class := obj.Spec.IngressClassName; found && class != nil && value != *class {
		errs = append(errs, field.Invalid(field.NewPath("annotations").Child(ingressClassAnnotation), value,
			"must match `ingressClassName` when both are specified"))
	}
	return errs
}

func checkIngressUpdate(obj, old *networkingv1.Ingress) field.ErrorList {
	errs := resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	return append(errs, checkIngress(obj, old)...)
}

// checkIngress returns the errors of an Ingress. An old one may have been stored by other rules for names of Secrets
// and for hosts with a wildcard.
func checkIngress(obj, old *networkingv1.Ingress) field.ErrorList {
	errs := resource.CheckMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	spec, path := &obj.Spec, field.NewPath("spec")
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		errs = append(errs, field.Invalid(path, spec.Rules, "either `defaultBackend` or `rules` must be specified"))
	}
	if spec.DefaultBackend != nil {
		errs = append(errs, checkBackend(spec.DefaultBackend, path.Child("defaultBackend"))...)
	}
	anyWildcard := old != nil && slices.ContainsFunc(old.Spec.Rules, func(rule networkingv1.IngressRule) bool {
		return strings.Contains(rule.Host, "*") && len(checkRuleValue(rule.HTTP, nil)) > 0
	})
	for n, rule := range spec.Rules {
		at := path.Child("rules").Index(n)
		errs = append(errs, checkRuleHost(rule.Host, at.Child("host"))...)
		if !anyWildcard || !strings.Contains(rule.Host, "*") {
			errs = append(errs, checkRuleValue(rule.HTTP, at.Child("http"))...)
		}
	}
	anySecret := old != nil && slices.ContainsFunc(old.Spec.TLS, func(tls networkingv1.IngressTLS) bool {
		return len(checkSecretName(tls.SecretName, nil)) > 0
	})
	for n, tls := range spec.TLS {
		at := path.Child("tls").Index(n)
		for n, host := range tls.Hosts {
			errs = append(errs, checkHost(host, at.Child("hosts").Index(n))...)
		}
		if !anySecret {
			errs = append(errs, checkSecretName(tls.SecretName, at.Child("secretName"))...)
		}
	}
	if class := spec.IngressClassName; class != nil {
		errs = append(errs, resource.CheckName(path.Child("ingressClassName"), *class, apivalidation.NameIsDNSSubdomain)...)
	}
	return errs
}

func checkSecretName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	return resource.CheckName(path, name, apivalidation.NameIsDNSSubdomain)
}

func checkRuleHost(host string, path *field.Path) (errs field.ErrorList) {
	if host == "" {
		return nil
	}
	if netutils.ParseIPSloppy(host) != nil {
		errs = append(errs, field.Invalid(path, host, "must be a DNS name, not an IP address"))
	}
	return append(errs, checkHost(host, path)...)
}

// checkHost returns the errors of a host that may begin with a wildcard.
func checkHost(host string, path *field.Path) field.ErrorList {
	if strings.Contains(host, "*") {
		return resource.CheckValue(path, host, validation.IsWildcardDNS1123Subdomain)
	}
	return resource.CheckValue(path, host, validation.IsDNS1123Subdomain)
}

func checkRuleValue(http *networkingv1.HTTPIngressRuleValue, path *field.Path) (errs field.ErrorList) {
	if http == nil {
		return nil
	}
	if len(http.Paths) == 0 {
		errs = append(errs, field.Required(path.Child("paths"), ""))
	}
	for n := range http.Paths {
		errs = append(errs, checkHTTPPath(&http.Paths[n], path.Child("paths").Index(n))...)
	}
	return errs
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
	refuse := func(message string) { errs = append(errs, field.Invalid(at, http.Path, message)) }
	isAbsolute := strings.HasPrefix(http.Path, "/")
	switch *http.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		if !isAbsolute {
			refuse("must be an absolute path")
		}
		for _, part := range ambiguousParts {
			if strings.Contains(http.Path, part) {
				refuse(fmt.Sprintf("must not contain '%s'", part))
			}
		}
		for _, suffix := range ambiguousSuffixes {
			if strings.HasSuffix(http.Path, suffix) {
				refuse(fmt.Sprintf("cannot end with '%s'", suffix))
			}
		}
	case networkingv1.PathTypeImplementationSpecific:
		if http.Path != "" && !isAbsolute {
			refuse("must be an absolute path")
		}
	default:
		errs = append(errs, resource.CheckSupported(path.Child("pathType"), *http.PathType,
			networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix)...)
	}
	return append(errs, checkBackend(&http.Backend, path.Child("backend"))...)
}

func checkBackend(backend *networkingv1.IngressBackend, path *field.Path) field.ErrorList {
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

func checkResourceBackend(ref *corev1.TypedLocalObjectReference, path *field.Path) (errs field.ErrorList) {
	if ref.APIGroup != nil {
		errs = append(errs, resource.CheckValue(path.Child("apiGroup"), *ref.APIGroup, validation.IsDNS1123Subdomain)...)
	}
	for _, part := range []struct{ name, value string }{{"kind", ref.Kind}, {"name", ref.Name}} {
		if part.value == "" {
			errs = append(errs, field.Required(path.Child(part.name), ""))
			continue
		}
		errs = append(errs, resource.CheckValue(path.Child(part.name), part.value, content.IsPathSegmentName)...)
	}
	return errs
}

func checkServiceBackend(service *networkingv1.IngressServiceBackend, path *field.Path) (errs field.ErrorList) {
	if service.Name == "" {
		errs = append(errs, field.Required(path.Child("service", "name"), ""))
	} else {
		name := path.Child("service", "name")
		errs = append(errs, resource.CheckName(name, service.Name, apivalidation.NameIsDNSLabel)...)
	}
	port, at := service.Port, path.Child("service", "port")
	switch {
	case port.Name != "" && port.Number != 0:
		errs = append(errs, field.Invalid(path, "", "cannot set both port name & port number"))
	case port.Name != "":
		errs = append(errs, resource.CheckValue(at.Child("name"), port.Name, validation.IsValidPortName)...)
	case port.Number != 0:
		errs = append(errs, checkPortNumber(port.Number, at.Child("number"))...)
	default:
		errs = append(errs, field.Required(path, "port name or number is required"))
	}
	return errs
}
