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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var (
	specPath        = field.NewPath("spec")
	statusPath      = field.NewPath("status")
	conditionsPath  = statusPath.Child("conditions")
	certificatePath = statusPath.Child("certificate")
)

var usages = sets.New(
	certificatesv1.UsageSigning, certificatesv1.UsageDigitalSignature, certificatesv1.UsageContentCommitment,
	certificatesv1.UsageKeyEncipherment, certificatesv1.UsageKeyAgreement, certificatesv1.UsageDataEncipherment,
	certificatesv1.UsageCertSign, certificatesv1.UsageCRLSign, certificatesv1.UsageEncipherOnly,
	certificatesv1.UsageDecipherOnly, certificatesv1.UsageAny, certificatesv1.UsageServerAuth,
	certificatesv1.UsageClientAuth, certificatesv1.UsageCodeSigning, certificatesv1.UsageEmailProtection,
	certificatesv1.UsageSMIME, certificatesv1.UsageIPsecEndSystem, certificatesv1.UsageIPsecTunnel,
	certificatesv1.UsageIPsecUser, certificatesv1.UsageTimestamping, certificatesv1.UsageOCSPSigning,
	certificatesv1.UsageMicrosoftSGC, certificatesv1.UsageNetscapeSGC,
)

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
	if err := checkRequestPEM(spec.Request); err != nil {
		errs = append(errs, field.Invalid(specPath.Child("request"), spec.Request, err.Error()))
	}
	errs = append(errs, checkUsages(spec.Usages)...)
	if signer := specPath.Child("signerName"); spec.SignerName == legacySigner {
		const text = "the legacy signerName is not allowed via this API version"
		errs = append(errs, field.Invalid(signer, spec.SignerName, text))
	} else {
		errs = append(errs, checkSignerName(signer, spec.SignerName)...)
	}
	if seconds := spec.ExpirationSeconds; seconds != nil && *seconds < minExpiration {
		text := fmt.Sprintf("may not specify a duration less than %d seconds (10 minutes)", minExpiration)
		errs = append(errs, field.Invalid(specPath.Child("expirationSeconds"), *seconds, text))
	}
	return errs
}

func checkUsages(wanted []certificatesv1.KeyUsage) (errs field.ErrorList) {
	path := specPath.Child("usages")
	if len(wanted) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	for n, usage := range wanted {
		if !usages.Has(usage) {
			errs = append(errs, field.NotSupported(path.Index(n), usage, sets.List(usages)))
		}
	}
	for n, usage := range wanted {
		if slices.Contains(wanted[:n], usage) {
			errs = append(errs, field.Duplicate(path.Index(n), usage))
		}
	}
	return errs
}

// requestUpdate says what an update of a request may change.
type requestUpdate struct {
	// approves allows the conditions Approved and Denied.
	approves bool
}

// check checks an update. The spec of both objects is the same.
func (u requestUpdate) check(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	csr, before := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
	errs := checkConditions(csr.Status.Conditions)
	certificateChanges := !bytes.Equal(csr.Status.Certificate, before.Status.Certificate)
	if certificateChanges {
		if err := checkCertificatePEM(csr.Status.Certificate); err != nil {
			errs = append(errs, field.Invalid(certificatePath, "<certificate data>", err.Error()))
		}
	}
	errs = append(errs, u.checkDecisions(csr, before)...)
	if certificateChanges && len(before.Status.Certificate) > 0 {
		errs = append(errs, field.Forbidden(certificatePath, "updates may not modify existing certificate content"))
	}
	errs = append(errs, resource.CheckMetadataUpdate(&csr.ObjectMeta, &before.ObjectMeta)...)
	return append(errs, checkExclusive(ctx, csr.Status.Conditions, before.Status.Conditions)...)
}

// final are the conditions that are never removed again.
var final = []certificatesv1.RequestConditionType{
	certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed,
}

// checkDecisions checks that decisions stay, and that only an approval adds some. Decisions that are not added are
// those of old, see keepConditions.
func (u requestUpdate) checkDecisions(csr, old *certificatesv1.CertificateSigningRequest) (errs field.ErrorList) {
	for _, kind := range final {
		if len(conditionsOf(csr, kind)) < len(conditionsOf(old, kind)) {
			text := fmt.Sprintf("updates may not remove a condition of type %q", kind)
			errs = append(errs, field.Forbidden(conditionsPath, text))
		}
	}
	if u.approves {
		return errs
	}
	for _, kind := range final[:2] {
		if len(conditionsOf(csr, kind)) > len(conditionsOf(old, kind)) {
			text := fmt.Sprintf("updates may not add a condition of type %q", kind)
			errs = append(errs, field.Forbidden(conditionsPath, text))
		}
	}
	return errs
}

// statuses are the allowed statuses of a condition that is not final. A final one can only be true.
var statuses = sets.New(corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown)

// checkConditions checks the conditions of a request.
func checkConditions(conditions []certificatesv1.CertificateSigningRequestCondition) (errs field.ErrorList) {
	seen := sets.New[certificatesv1.RequestConditionType]()
	for n := range conditions {
		c, path := &conditions[n], conditionsPath.Index(n)
		if c.Type == "" {
			errs = append(errs, field.Required(path.Child("type"), ""))
		}
		allowed := statuses
		if slices.Contains(final, c.Type) {
			allowed = sets.New(corev1.ConditionTrue)
		}
		switch {
		case c.Status == "":
			errs = append(errs, field.Required(path.Child("status"), ""))
		case !allowed.Has(c.Status):
			errs = append(errs, field.NotSupported(path.Child("status"), c.Status, sets.List(allowed)))
		}
		if seen.Has(c.Type) {
			errs = append(errs, field.Duplicate(path.Child("type"), c.Type))
		}
		seen.Insert(c.Type)
	}
	return errs
}

// decisions are the conditions of which a request has one at most. The names are those of the error.
var decisions = validate.NewUnionMembership(
	validate.NewUnionMember(`conditions[{"type": "Approved"}]`), validate.NewUnionMember(`conditions[{"type": "Denied"}]`))

// checkExclusive checks that a request is not approved and denied.
func checkExclusive(
	ctx context.Context, conditions, old []certificatesv1.CertificateSigningRequestCondition,
) field.ErrorList {
	if equality.Semantic.DeepEqual(conditions, old) {
		return nil
	}
	return validate.ZeroOrOneOfUnion(ctx, operation.Operation{Type: operation.Update}, conditionsPath, conditions, old,
		decisions, has(certificatesv1.CertificateApproved), has(certificatesv1.CertificateDenied))
}

// has returns a function that reports whether one of some conditions has a type.
func has(kind certificatesv1.RequestConditionType) func([]certificatesv1.CertificateSigningRequestCondition) bool {
	return func(conditions []certificatesv1.CertificateSigningRequestCondition) bool {
		return slices.ContainsFunc(conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
			return c.Type == kind
		})
	}
}
