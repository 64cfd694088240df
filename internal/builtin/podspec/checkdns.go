package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// The limits of the configuration of a resolver.
const (
	maxNameservers = 3
	maxSearches    = 32
	maxSearchText  = 2048
)

func checkDNS(spec *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	config, servers, searches := spec.DNSConfig, path.Child("nameservers"), path.Child("searches")
	switch {
	case config == nil:
		return rules.When(spec.DNSPolicy == corev1.DNSNone,
			field.Required(path, "must provide `dnsConfig` when `dnsPolicy` is None"))
	case len(config.Nameservers) == 0 && spec.DNSPolicy == corev1.DNSNone:
		return field.ErrorList{field.Required(servers, "must provide at least one DNS nameserver when `dnsPolicy` is None")}
	}
	errs = rules.When(len(config.Nameservers) > maxNameservers, field.Invalid(servers, config.Nameservers,
		fmt.Sprintf("must not have more than %v nameservers", maxNameservers)))
	for n, server := range config.Nameservers {
		errs = append(errs, validation.IsValidIPForLegacyField(servers.Index(n), server, false, nil)...)
	}
	errs = append(errs, slices.Concat(
		rules.When(len(config.Searches) > maxSearches, field.Invalid(searches, config.Searches,
			fmt.Sprintf("must not have more than %v search paths", maxSearches))),
		rules.When(len(strings.Join(config.Searches, " ")) > maxSearchText, field.Invalid(searches, config.Searches,
			fmt.Sprintf("must not have more than %v characters (including spaces) in the search list", maxSearchText))),
	)...)
	for n, search := range config.Searches {
		if domain := strings.TrimSuffix(search, "."); search != "." {
			errs = append(errs,
				rules.Messages(searches.Index(n), domain, validation.IsDNS1123SubdomainWithUnderscore(domain))...)
		}
	}
	for n, option := range config.Options {
		errs = append(errs,
			rules.When(option.Name == "", field.Required(path.Child("options").Index(n), "must not be empty"))...)
	}
	return errs
}
