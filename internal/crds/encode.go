package crds

import (
	"encoding/json"
	"fmt"
	"slices"
	"weak"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
)

// The texts between the members of a stored CRD.
var (
	beforeMetadata = []byte(`{"kind":"CustomResourceDefinition","apiVersion":"` + v1beta1.SchemeGroupVersion.String() +
		`","metadata":`)
	beforeSpec   = []byte(`,"spec":`)
	beforeStatus = []byte(`,"status":`)
	afterStatus  = []byte("}\n")
)

// EncodeDefinition returns the value to store for a CRD, without a resourceVersion: JSON in v1beta1, as upstream
// writes it. That version writes the parts that versions share once, so it is never larger than v1. EncodeDefinition
// does not modify crd.
func EncodeDefinition(crd *apiextensions.CustomResourceDefinition) ([]byte, error) {
	parts, err := NewParts(crd)
	if err != nil {
		return nil, err
	}
	return parts.Stored()
}

// Stored returns the value to store, as EncodeDefinition does.
func (p *Parts) Stored() ([]byte, error) {
	crd, beta := p.Bare, &v1beta1.CustomResourceDefinition{}
	if err := v1beta1.Convert_apiextensions_CustomResourceDefinition_To_v1beta1_CustomResourceDefinition(crd, beta,
		nil); err != nil {
		return nil, fmt.Errorf("encoding CustomResourceDefinition %s: %w", crd.Name, err)
	}
	beta.ResourceVersion = ""
	beta.SelfLink = "" //lint:ignore SA1019 servers no longer set it, but clients may send it
	var members [3][]byte
	for n, member := range []any{&beta.ObjectMeta, &beta.Spec, &beta.Status} {
		var err error
		if members[n], err = json.Marshal(member); err != nil {
			return nil, fmt.Errorf("encoding CustomResourceDefinition %s: %w", crd.Name, err)
		}
	}
	value := p.Complete(slices.Concat(beforeMetadata, members[0], beforeSpec, members[1], beforeStatus, members[2],
		afterStatus))
	outline, err := outlineOf(beta)
	if err != nil {
		return nil, err
	}
	specAt := len(beforeMetadata) + len(members[0]) + len(beforeSpec) // the schemas are in the spec
	statusAt := len(value) - len(beforeStatus) - len(members[2]) - len(afterStatus)
	remember(value, &known{
		spec:       value[specAt:statusAt],
		statusAt:   statusAt,
		outline:    outline,
		definition: weak.Make(p.whole),
	})
	return value, nil
}

// outlineOf returns the v1 form of a CRD without schemas, defaulted as if it had been decoded. It shares no memory
// with beta.
func outlineOf(beta *v1beta1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	bare := *beta
	bare.Spec.Validation = nil
	bare.Spec.Versions = slices.Clone(beta.Spec.Versions)
	for n := range bare.Spec.Versions {
		bare.Spec.Versions[n].Schema = nil
	}
	return defaulted(bare.DeepCopy())
}

// defaulted returns the v1 form of a CRD that was read from storage. It modifies beta, and the result shares memory
// with it.
func defaulted(beta *v1beta1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	internal, err := internalOfBeta(beta)
	if err != nil {
		return nil, err
	}
	return ToV1(internal)
}
