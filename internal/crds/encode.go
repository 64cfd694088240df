package crds

import (
	"encoding/json"
	"fmt"
	"slices"
	"weak"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"

	"github.com/crd-server/crd-server/internal/objectjson"
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
	Scheme.Default(beta)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := Scheme.Convert(beta, internal, nil); err != nil {
		return nil, fmt.Errorf("converting CustomResourceDefinition %s: %w", beta.Name, err)
	}
	return ToV1(internal)
}

// Parts is a CRD to be encoded in more than one version of the API. Its schemas are most of it and the same JSON in
// all versions, so Parts encodes them once.
type Parts struct {
	// Bare is the CRD with marks (objectjson.Mark) in place of schemas. It shares everything else with the CRD and
	// must not be modified.
	Bare *apiextensions.CustomResourceDefinition
	// whole is the CRD itself.
	whole *apiextensions.CustomResourceDefinition
	// schemas are encoded.
	schemas [][]byte
}

// NewParts splits crd. It does not modify crd; the caller must not modify it while Parts is in use.
func NewParts(crd *apiextensions.CustomResourceDefinition) (*Parts, error) {
	bare := *crd
	p := &Parts{Bare: &bare, whole: crd}
	var err error
	if bare.Spec.Validation, err = p.marked(crd.Spec.Validation); err != nil {
		return nil, err
	}
	bare.Spec.Versions = slices.Clone(crd.Spec.Versions)
	for n := range bare.Spec.Versions {
		version := &bare.Spec.Versions[n]
		if version.Schema, err = p.marked(version.Schema); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// marked encodes a schema and returns one that has only a mark as description.
func (p *Parts) marked(
	validation *apiextensions.CustomResourceValidation,
) (*apiextensions.CustomResourceValidation, error) {
	if validation == nil || validation.OpenAPIV3Schema == nil {
		return validation, nil
	}
	props := &apiextensionsv1.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_apiextensions_JSONSchemaProps_To_v1_JSONSchemaProps(validation.OpenAPIV3Schema,
		props, nil); err != nil {
		return nil, fmt.Errorf("encoding a schema of CustomResourceDefinition %s: %w", p.whole.Name, err)
	}
	encoded, err := json.Marshal(props)
	if err != nil {
		return nil, fmt.Errorf("encoding a schema of CustomResourceDefinition %s: %w", p.whole.Name, err)
	}
	mark := &apiextensions.JSONSchemaProps{Description: objectjson.Mark(len(p.schemas))}
	p.schemas = append(p.schemas, encoded)
	return &apiextensions.CustomResourceValidation{OpenAPIV3Schema: mark}, nil
}

// Complete puts the schemas into JSON of Bare.
func (p *Parts) Complete(encoded []byte) []byte {
	return objectjson.NewTemplate(encoded, `{"description":"`, `"}`).Append(nil, p.schemas)
}
