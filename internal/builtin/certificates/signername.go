package certificates

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkSignerName checks the form of a signer's name: a domain and a path, such as example.com/namespace.name.
func checkSignerName(path *field.Path, signer string) (errs field.ErrorList) {
	if signer == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	domain, name, ok := strings.Cut(signer, "/")
	if !ok || strings.Contains(name, "/") {
		const text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
		return field.ErrorList{field.Invalid(path, signer, text)}
	}
	if len(domain) > validation.DNS1123SubdomainMaxLength {
		errs = append(errs, field.TooLong(path, "", validation.DNS1123SubdomainMaxLength))
	}
	errs = append(errs, checkLabels(path, domain, validation.IsDNS1123Label)...)
	if !strings.Contains(domain, ".") {
		const text = "should be a domain with at least two segments separated by dots"
		errs = append(errs, field.Invalid(path, domain, text))
	}
	errs = append(errs, checkLabels(path, name, validation.IsDNS1123Subdomain)...)
	const maxSignerName = 2*validation.DNS1123SubdomainMaxLength + validation.DNS1123LabelMaxLength + 2
	if len(signer) > maxSignerName {
		errs = append(errs, field.TooLong(path, "", maxSignerName))
	}
	return errs
}

// checkLabels returns the errors of the first bad label of a part of a signer's name.
func checkLabels(path *field.Path, part string, check func(string) []string) (errs field.ErrorList) {
	for label := range strings.SplitSeq(part, ".") {
		for _, text := range check(label) {
			errs = append(errs, field.Invalid(path, part, fmt.Sprintf("validating label %q: %s", label, text)))
		}
		if len(errs) > 0 {
			break
		}
	}
	return errs
}
