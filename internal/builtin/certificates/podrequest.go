package certificates

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// The durations that a pod may ask for, in seconds.
const (
	minPodExpiration        = 60 * 60
	maxPodExpiration        = 91 * 24 * 60 * 60
	maxKubernetesExpiration = 24 * 60 * 60
)

// defaultPodRequest sets the duration.
func defaultPodRequest(obj runtime.Object) {
	spec := &obj.(*certificatesv1.PodCertificateRequest).Spec
	if spec.MaxExpirationSeconds == nil {
		spec.MaxExpirationSeconds = ptr.To[int32](maxKubernetesExpiration)
	}
}

var podRequestRules = resource.Typed[*certificatesv1.PodCertificateRequest]{
	Prepare: func(pcr *certificatesv1.PodCertificateRequest) {
		pcr.Status = certificatesv1.PodCertificateRequestStatus{}
	},
	Check: checkPodRequest,
	PrepareUpdate: func(pcr, old *certificatesv1.PodCertificateRequest) {
		pcr.Status = old.Status
	},
	CheckUpdate: func(pcr, old *certificatesv1.PodCertificateRequest) field.ErrorList {
		errs := resource.CheckMetadataUpdate(&pcr.ObjectMeta, &old.ObjectMeta)
		return append(errs, apivalidation.ValidateImmutableField(pcr.Spec, old.Spec, specPath)...)
	},
	RequiresVersion: true,
}

// checkPodRequest checks a new request.
func checkPodRequest(pcr *certificatesv1.PodCertificateRequest) field.ErrorList {
	spec := &pcr.Spec
	errs := resource.CheckMetadata(&pcr.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, checkSignerName(specPath.Child("signerName"), spec.SignerName)...)
	if annotations := spec.UnverifiedUserAnnotations; annotations != nil {
		errs = append(errs, checkUserAnnotations(annotations)...)
	}
	for _, ref := range []struct {
		field, name, uid string
		check            apivalidation.ValidateNameFunc
	}{
		{"pod", spec.PodName, string(spec.PodUID), apivalidation.NameIsDNSSubdomain},
		{"serviceAccount", spec.ServiceAccountName, string(spec.ServiceAccountUID), apivalidation.ValidateServiceAccountName},
		{"node", string(spec.NodeName), string(spec.NodeUID), apivalidation.NameIsDNSSubdomain},
	} {
		for _, text := range ref.check(ref.name, false) {
			errs = append(errs, field.Invalid(specPath.Child(ref.field+"Name"), ref.name, text))
		}
		const maxUID = 128
		switch path := specPath.Child(ref.field + "UID"); {
		case ref.uid == "":
			errs = append(errs, field.Invalid(path, ref.uid, "must not be empty"))
		case len(ref.uid) > maxUID:
			errs = append(errs, field.TooLong(path, ref.uid, maxUID))
		}
	}
	most := int32(maxPodExpiration)
	if ofKubernetes(spec.SignerName) {
		most = maxKubernetesExpiration
	}
	if seconds := spec.MaxExpirationSeconds; *seconds < minPodExpiration || *seconds > most {
		text := fmt.Sprintf("must be in the range [%d, %d]", minPodExpiration, most)
		errs = append(errs, field.Invalid(specPath.Child("maxExpirationSeconds"), seconds, text))
	}
	return append(errs, checkStub(spec.StubPKCS10Request)...)
}

// checkStub checks the PKCS#10 request that carries the key of a pod.
func checkStub(stub []byte) field.ErrorList {
	const maxStub = 10 << 10
	path := specPath.Child("stubPKCS10Request")
	if len(stub) == 0 {
		const text = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"
		return field.ErrorList{field.Invalid(specPath, field.OmitValueType{}, text)}
	}
	if len(stub) > maxStub {
		return field.ErrorList{field.TooLong(path, stub, maxStub)}
	}
	var value any = field.OmitValueType{}
	text := ""
	parsed, err := x509.ParseCertificateRequest(stub)
	switch {
	case err != nil:
		text = "must be a valid PKCS#10 CSR"
	default:
		value, text = keyError(parsed.PublicKey)
		if text == "" && parsed.CheckSignature() != nil {
			text = "invalid signature"
		}
	}
	if text == "" {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, text)}
}

// keyError says why a pod cannot have a key; the text is empty if it can.
func keyError(key any) (value any, text string) {
	value = field.OmitValueType{}
	switch k := key.(type) {
	case ed25519.PublicKey:
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() && k.Curve != elliptic.P384() && k.Curve != elliptic.P521() {
			return "curve " + k.Curve.Params().Name, "elliptic public keys must use curve P256, P384, or P521"
		}
	case *rsa.PublicKey:
		if bits := k.Size() * 8; bits != 3072 && bits != 4096 {
			return fmt.Sprintf("%d-bit modulus", bits), "RSA keys must have modulus size 3072 or 4096"
		}
	default:
		return value, "unknown public key type; supported types are Ed25519, ECDSA, and RSA"
	}
	return value, ""
}

func checkUserAnnotations(annotations map[string]string) (errs field.ErrorList) {
	path := specPath.Child("unverifiedUserAnnotations")
	for key := range annotations {
		errs = append(errs, validation.IsDomainPrefixedKey(path, strings.ToLower(key))...)
	}
	if apivalidation.ValidateAnnotationsSize(annotations) != nil {
		errs = append(errs, field.TooLong(path, "", apivalidation.TotalAnnotationSizeLimitB))
	}
	return errs
}

// ofKubernetes reports whether a signer is one of Kubernetes.
func ofKubernetes(signer string) bool {
	domain, _, _ := strings.Cut(signer, "/")
	return domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io")
}

// podRequestStatusRules are the rules of the status of a pod's request. It is written once.
type podRequestStatusRules struct {
	resource.Rules
	// signs reports whether the user of a request has a verb for a signer.
	signs func(ctx context.Context, verb, signer string) bool
}

// PrepareForUpdate keeps the spec and the metadata.
func (podRequestStatusRules) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	pcr, before := obj.(*certificatesv1.PodCertificateRequest), old.(*certificatesv1.PodCertificateRequest)
	pcr.Spec = before.Spec
	metav1.ResetObjectMetaForStatus(&pcr.ObjectMeta, &before.ObjectMeta)
}

// ValidateUpdate checks the status, and that the user may sign.
func (r podRequestStatusRules) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	pcr, before := obj.(*certificatesv1.PodCertificateRequest), old.(*certificatesv1.PodCertificateRequest)
	errs := resource.CheckMetadataUpdate(&pcr.ObjectMeta, &before.ObjectMeta)
	errs = append(errs, checkPodRequestStatus(pcr, before)...)
	signer := before.Spec.SignerName
	if len(errs) > 0 || equality.Semantic.DeepEqual(pcr.Status, before.Status) || r.signs(ctx, "sign", signer) {
		return errs
	}
	name := ""
	if user, ok := request.UserFrom(ctx); ok {
		name = user.GetName()
	}
	text := fmt.Sprintf("User %q is not permitted to \"sign\" for signer %q", name, signer)
	return field.ErrorList{field.Forbidden(specPath.Child("signerName"), text)}
}

// AllowUnconditionalUpdate returns false.
func (podRequestStatusRules) AllowUnconditionalUpdate(context.Context) bool { return false }
