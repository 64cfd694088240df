package certificates

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// checkSignerName checks the form of a signer's name: a domain and a path, such as example.com/namespace.name.
func checkSignerName(path *field.Path, signer string) field.ErrorList {
	if signer == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	domain, name, ok := strings.Cut(signer, "/")
	if !ok || strings.Contains(name, "/") {
		const text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
		return field.ErrorList{field.Invalid(path, signer, text)}
	}
	const maxDomain = validation.DNS1123SubdomainMaxLength
	const maxName = 2*maxDomain + validation.DNS1123LabelMaxLength + 2
	return slices.Concat(
		rules.When(len(domain) > maxDomain, field.TooLong(path, "", maxDomain)),
		checkLabels(path, domain, validation.IsDNS1123Label),
		rules.When(!strings.Contains(domain, "."),
			field.Invalid(path, domain, "should be a domain with at least two segments separated by dots")),
		checkLabels(path, name, validation.IsDNS1123Subdomain),
		rules.When(len(signer) > maxName, field.TooLong(path, "", maxName)),
	)
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
