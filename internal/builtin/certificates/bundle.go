package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/cert"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var bundleRules = resource.Typed[*certificatesv1.ClusterTrustBundle]{
	Check: func(b *certificatesv1.ClusterTrustBundle) field.ErrorList {
		return append(checkBundle(b), checkAnchors(b)...)
	},
	CheckUpdate: func(b, old *certificatesv1.ClusterTrustBundle) field.ErrorList {
		errs := checkBundle(b)
		if b.Spec.TrustBundle != old.Spec.TrustBundle {
			errs = append(errs, checkAnchors(b)...)
		}
		errs = append(errs, resource.CheckMetadataUpdate(&b.ObjectMeta, &old.ObjectMeta)...)
		signer := specPath.Child("signerName")
		return append(errs, apivalidation.ValidateImmutableField(b.Spec.SignerName, old.Spec.SignerName, signer)...)
	},
	RequiresVersion: true,
}

func checkBundle(b *certificatesv1.ClusterTrustBundle) field.ErrorList {
	signer := b.Spec.SignerName
	errs := resource.CheckClusterMetadata(&b.ObjectMeta, bundleName(signer))
	if signer != "" {
		errs = append(errs, checkSignerName(specPath.Child("signerName"), signer)...)
	}
	return errs
}

// bundleName returns the check of the names of a signer's bundles: they begin with that of the signer.
func bundleName(signer string) apivalidation.ValidateNameFunc {
	return func(name string, prefix bool) []string {
		if signer == "" {
			if strings.Contains(name, ":") {
				return []string{`ClusterTrustBundle without signer name must not have ":" in its name`}
			}
			return apivalidation.NameIsDNSSubdomain(name, prefix)
		}
		start := strings.ReplaceAll(signer, "/", ":") + ":"
		rest, ok := strings.CutPrefix(name, start)
		if !ok {
			return []string{fmt.Sprintf("ClusterTrustBundle for signerName %s must be named with prefix %s", signer, start)}
		}
		return apivalidation.NameIsDNSSubdomain(rest, prefix)
	}
}

// maxBundle is the size of the largest bundle.
const maxBundle = 1 << 20

// checkAnchors checks that a bundle has certificates of authorities, each once.
func checkAnchors(b *certificatesv1.ClusterTrustBundle) (errs field.ErrorList) {
	path := specPath.Child("trustBundle")
	if len(b.Spec.TrustBundle) > maxBundle {
		return field.ErrorList{field.TooLong(path, "", maxBundle)}
	}
	invalid := func(format string, args ...any) {
		errs = append(errs, field.Invalid(path, "<value omitted>", fmt.Sprintf(format, args...)))
	}
	indices := map[string][]int{}
	var anchors []string // the keys of indices, in order
	n := 0
	for block, rest := pem.Decode([]byte(b.Spec.TrustBundle)); block != nil; block, rest = pem.Decode(rest) {
		if text := anchorError(block); text != "" {
			invalid("entry %d %s", n, text)
		} else {
			key := string(block.Bytes)
			if indices[key] == nil {
				anchors = append(anchors, key)
			}
			indices[key] = append(indices[key], n)
		}
		n++
	}
	if len(errs) > 0 {
		return errs
	}
	if len(anchors) == 0 {
		invalid("at least one trust anchor must be provided")
	}
	for _, key := range anchors {
		if len(indices[key]) > 1 {
			invalid("duplicate trust anchor (indices %v)", indices[key])
		}
	}
	return errs
}

// anchorError says why a block is not the certificate of an authority. It is empty if the block is one.
func anchorError(block *pem.Block) string {
	if block.Type != cert.CertificateBlockType {
		return "has bad block type: " + block.Type
	}
	if len(block.Headers) != 0 {
		return "has PEM block headers"
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return "does not parse as X.509"
	case !certificate.IsCA:
		return "does not have the CA bit set"
	case !certificate.BasicConstraintsValid:
		return "has invalid basic constraints"
	}
	return ""
}
