package certificates

import (
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var bundleRules = resource.Typed[*certificatesv1.ClusterTrustBundle]{
	Check: checkBundle,
	CheckUpdate: func(b, old *certificatesv1.ClusterTrustBundle) field.ErrorList {
		errs := append(checkBundle(b), resource.CheckMetadataUpdate(&b.ObjectMeta, &old.ObjectMeta)...)
		signer := specPath.Child("signerName")
		return append(errs, apivalidation.ValidateImmutableField(b.Spec.SignerName, old.Spec.SignerName, signer)...)
	},
	RequiresVersion: true,
}

// checkBundle checks the names of a bundle and its signer. What it trusts is not parsed.
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
