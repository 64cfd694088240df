package serviceaccounts

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Bounds of the validity that a request may ask for, in seconds.
const (
	minExpirationSeconds = 10 * 60
	maxExpirationSeconds = 1 << 32
)

// validate returns the errors of a request, in kube-apiserver's words.
func validate(spec *authenticationv1.TokenRequestSpec) (errs field.ErrorList) {
	path := field.NewPath("spec")
	expiration := path.Child("expirationSeconds")
	if *spec.ExpirationSeconds < minExpirationSeconds {
		errs = append(errs, field.Invalid(expiration, *spec.ExpirationSeconds,
			"may not specify a duration less than 10 minutes"))
	}
	if *spec.ExpirationSeconds > maxExpirationSeconds {
		errs = append(errs, field.Invalid(expiration, *spec.ExpirationSeconds,
			"may not specify a duration larger than 2^32 seconds"))
	}
	attestations := path.Child("attestations")
	if isWebhook(spec.BoundObjectRef) {
		if len(spec.Audiences) != 1 {
			errs = append(errs, field.Invalid(path.Child("audiences"), spec.Audiences,
				"must be length 1 when bound to a webhook config"))
		}
		return append(errs, validateAttestations(spec.Attestations, attestations)...)
	}
	if len(spec.Attestations) > 0 {
		return field.ErrorList{field.Invalid(attestations, spec.Attestations,
			"attestations may only be specified with a webhook bound object reference")}
	}
	return errs
}

// isWebhook reports whether a reference is to the configuration of webhooks.
func isWebhook(ref *authenticationv1.BoundObjectReference) bool {
	return ref != nil && ref.APIVersion == admissionregistrationv1.SchemeGroupVersion.String() &&
		(ref.Kind == "ValidatingWebhookConfiguration" || ref.Kind == "MutatingWebhookConfiguration")
}

// validateAttestations checks that there is one attestation, which names one group.
func validateAttestations(all map[string]authenticationv1.AttestationValue, path *field.Path) (errs field.ErrorList) {
	if len(all) != 1 {
		return field.ErrorList{field.Invalid(path, all,
			"webhook bound requests require exactly one admissionReviewAPIGroups attestation")}
	}
	const known = authenticationv1.AttestationAdmissionReviewAPIGroups
	for name, values := range all {
		at := path.Key(name)
		switch {
		case name != known:
			errs = append(errs, field.NotSupported(at, name, []string{known}))
		case len(values) != 1:
			errs = append(errs, field.Invalid(at, values, "must specify a single value"))
		case values[0] == "":
			errs = append(errs, field.Invalid(at.Index(0), values[0], "may not be an empty string"))
		case values[0] != "*":
			for _, reason := range validation.IsDNS1123Subdomain(values[0]) {
				errs = append(errs, field.Invalid(at.Index(0), values[0], "must specify a valid API Group: "+reason))
			}
		}
	}
	return errs
}
