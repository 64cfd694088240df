package certificates

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var (
	specPath        = field.NewPath("spec")
	statusPath      = field.NewPath("status")
	conditionsPath  = statusPath.Child("conditions")
	certificatePath = statusPath.Child("certificate")
)

// usages are sorted as errors list them.
var usages = sets.List(sets.New(
	certificatesv1.UsageSigning, certificatesv1.UsageDigitalSignature, certificatesv1.UsageContentCommitment,
	certificatesv1.UsageKeyEncipherment, certificatesv1.UsageKeyAgreement, certificatesv1.UsageDataEncipherment,
	certificatesv1.UsageCertSign, certificatesv1.UsageCRLSign, certificatesv1.UsageEncipherOnly,
	certificatesv1.UsageDecipherOnly, certificatesv1.UsageAny, certificatesv1.UsageServerAuth,
	certificatesv1.UsageClientAuth, certificatesv1.UsageCodeSigning, certificatesv1.UsageEmailProtection,
	certificatesv1.UsageSMIME, certificatesv1.UsageIPsecEndSystem, certificatesv1.UsageIPsecTunnel,
	certificatesv1.UsageIPsecUser, certificatesv1.UsageTimestamping, certificatesv1.UsageOCSPSigning,
	certificatesv1.UsageMicrosoftSGC, certificatesv1.UsageNetscapeSGC,
))

const (
	// legacySigner is the signer of requests in v1beta1 that named none.
	legacySigner = "kubernetes.io/legacy-unknown"
	// minExpiration is the shortest duration that a request may ask for.
	minExpiration = 600
)

// anyName accepts all names: those of requests are free.
func anyName(string, bool) []string { return nil }

// checkRequest checks a new request.
func checkRequest(csr *certificatesv1.CertificateSigningRequest) field.ErrorList {
	errs := resource.CheckClusterMetadata(&csr.ObjectMeta, anyName)
	spec := &csr.Spec
	parsed, err := ParseRequest(spec.Request)
	if err == nil {
		err = parsed.CheckSignature()
	}
	if err != nil {
		errs = append(errs, field.Invalid(specPath.Child("request"), spec.Request, err.Error()))
	}
	errs = append(errs, checkUsages(spec.Usages, specPath.Child("usages"))...)
	if signer := specPath.Child("signerName"); spec.SignerName == legacySigner {
		const text = "the legacy signerName is not allowed via this API version"
		errs = append(errs, field.Invalid(signer, spec.SignerName, text))
	} else {
		errs = append(errs, checkSignerName(signer, spec.SignerName)...)
	}
	seconds := ptr.Deref(spec.ExpirationSeconds, minExpiration)
	return append(errs, rules.When(seconds < minExpiration, field.Invalid(specPath.Child("expirationSeconds"), seconds,
		fmt.Sprintf("may not specify a duration less than %d seconds (10 minutes)", minExpiration)))...)
}

func checkUsages(wanted []certificatesv1.KeyUsage, path *field.Path) (errs field.ErrorList) {
	if len(wanted) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	for n, usage := range wanted {
		errs = append(errs, rules.Known(usage, path.Index(n), usages...)...)
	}
	unique := rules.Unique[certificatesv1.KeyUsage]()
	for n, usage := range wanted {
		errs = append(errs, unique(usage, path.Index(n))...)
	}
	return errs
}

// checkApproval checks an update that may approve or deny a request.
func checkApproval(csr, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return checkStatus(csr, old, nil)
}

// checkRequestUpdate checks any other update.
func checkRequestUpdate(csr, old *certificatesv1.CertificateSigningRequest) (errs field.ErrorList) {
	for _, kind := range final[:2] {
		if len(conditionsOf(csr, kind)) > len(conditionsOf(old, kind)) {
			text := fmt.Sprintf("updates may not add a condition of type %q", kind)
			errs = append(errs, field.Forbidden(conditionsPath, text))
		}
	}
	return checkStatus(csr, old, errs)
}

// final are the conditions that are never removed again. The first two are decisions, which only an approval adds.
// Those that another update leaves out stay, see keepConditions.
var final = []certificatesv1.RequestConditionType{
	certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed,
}

// checkStatus returns the errors of an update, with those of added decisions in their place. Both objects have the same
// spec.
func checkStatus(csr, old *certificatesv1.CertificateSigningRequest, added field.ErrorList) field.ErrorList {
	errs := checkConditions(csr.Status.Conditions)
	changed := !bytes.Equal(csr.Status.Certificate, old.Status.Certificate)
	if changed {
		if err := checkCertificatePEM(csr.Status.Certificate); err != nil {
			errs = append(errs, field.Invalid(certificatePath, "<certificate data>", err.Error()))
		}
	}
	for _, kind := range final {
		if len(conditionsOf(csr, kind)) < len(conditionsOf(old, kind)) {
			text := fmt.Sprintf("updates may not remove a condition of type %q", kind)
			errs = append(errs, field.Forbidden(conditionsPath, text))
		}
	}
	errs = append(errs, added...)
	if changed && len(old.Status.Certificate) > 0 {
		errs = append(errs, field.Forbidden(certificatePath, "updates may not modify existing certificate content"))
	}
	errs = append(errs, resource.CheckMetadataUpdate(&csr.ObjectMeta, &old.ObjectMeta)...)
	return append(errs, checkExclusive(csr, old)...)
}

// checkConditions checks the conditions of a request. A final one can only be true.
func checkConditions(conditions []certificatesv1.CertificateSigningRequestCondition) field.ErrorList {
	unique := rules.Unique[certificatesv1.RequestConditionType]()
	return rules.Each(conditions, conditionsPath,
		func(c *certificatesv1.CertificateSigningRequestCondition, path *field.Path) field.ErrorList {
			allowed := []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
			if slices.Contains(final, c.Type) {
				allowed = allowed[1:2]
			}
			return slices.Concat(rules.Required(c.Type, path.Child("type")),
				rules.OneOf(c.Status, path.Child("status"), allowed...), unique(c.Type, path.Child("type")))
		})
}

// decisions are the conditions of which a request has one at most. The names are those of the error.
var decisions = validate.NewUnionMembership(
	validate.NewUnionMember(`conditions[{"type": "Approved"}]`), validate.NewUnionMember(`conditions[{"type": "Denied"}]`))

// checkExclusive checks that a request is not approved and denied.
func checkExclusive(csr, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	if equality.Semantic.DeepEqual(csr.Status.Conditions, old.Status.Conditions) {
		return nil
	}
	has := func(kind certificatesv1.RequestConditionType) func(*certificatesv1.CertificateSigningRequest) bool {
		return func(csr *certificatesv1.CertificateSigningRequest) bool { return len(conditionsOf(csr, kind)) > 0 }
	}
	return validate.ZeroOrOneOfUnion(context.Background(), operation.Operation{Type: operation.Update}, conditionsPath,
		csr, old, decisions, has(certificatesv1.CertificateApproved), has(certificatesv1.CertificateDenied))
}
