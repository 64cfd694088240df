package crds

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// stored is a CRD in the form of EncodeDefinition. Decoding into it skips schemas, which are most of the bytes, and
// metadata that no record keeps. That takes a sixth of the time of decoding the whole CRD, and makes up most of a start
// with thousands of CRDs.
type stored struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        storedMetadata `json:"metadata"`
	// Spec is decoded separately because its bytes are hashed.
	Spec json.RawMessage `json:"spec"`
	// Status is decoded separately because it may be replaced.
	Status json.RawMessage `json:"status"`
}

type storedMetadata struct {
	metav1.ObjectMeta `json:",inline"`
	// The outer fields hide those of ObjectMeta.
	Labels        json.RawMessage `json:"labels"`
	Annotations   json.RawMessage `json:"annotations"`
	ManagedFields json.RawMessage `json:"managedFields"`
}

type storedSpec struct {
	v1beta1.CustomResourceDefinitionSpec `json:",inline"`
	Validation                           json.RawMessage `json:"validation"`
	Versions                             []storedVersion `json:"versions"`
}

type storedVersion struct {
	v1beta1.CustomResourceDefinitionVersion `json:",inline"`
	Schema                                  json.RawMessage `json:"schema"`
}

// NewRecord returns the record of a stored CRD. The record keeps the entry.
func NewRecord(entry *dynamicstorage.Entry) (*Record, error) {
	stored, err := Open(entry)
	if err != nil {
		return nil, err
	}
	if stored.Outline.Name != entry.Key {
		return nil, fmt.Errorf("CustomResourceDefinition %q is stored under the key of %q", stored.Outline.Name, entry.Key)
	}
	r := newRecord(stored.Outline, entry)
	r.SpecHash = specHash(stored.known.spec, &r.AcceptedNames)
	return r, nil
}

// decodeStored decodes any stored form. It converts forms other than v1beta1 JSON to v1beta1 JSON first, so that a spec
// has the same bytes and the same hash in every form.
func decodeStored(value []byte, revision int64) (*stored, error) {
	s := &stored{}
	if bytes.HasPrefix(value, []byte("{")) {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(value, s); err != nil {
			return nil, fmt.Errorf("decoding CustomResourceDefinition: %w", err)
		}
		if s.APIVersion == v1beta1.SchemeGroupVersion.String() && s.Kind == "CustomResourceDefinition" {
			return s, nil
		}
	}
	crd, err := DecodeDefinition(value, revision)
	if err != nil {
		return nil, err
	}
	canonical, err := EncodeDefinition(crd)
	if err != nil {
		return nil, err
	}
	s = &stored{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(canonical, s); err != nil {
		return nil, fmt.Errorf("decoding CustomResourceDefinition: %w", err)
	}
	return s, nil
}

// withoutSchemas returns the v1 form of the CRD with defaults but without schemas.
func (s *stored) withoutSchemas() (*apiextensionsv1.CustomResourceDefinition, error) {
	spec := &storedSpec{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(s.Spec, spec); err != nil {
		return nil, fmt.Errorf("decoding the spec of CustomResourceDefinition %s: %w", s.Metadata.Name, err)
	}
	beta := &v1beta1.CustomResourceDefinition{
		ObjectMeta: s.Metadata.ObjectMeta,
		Spec:       spec.CustomResourceDefinitionSpec,
	}
	if len(s.Status) > 0 {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(s.Status, &beta.Status); err != nil {
			return nil, fmt.Errorf("decoding the status of CustomResourceDefinition %s: %w", s.Metadata.Name, err)
		}
	}
	for _, version := range spec.Versions {
		beta.Spec.Versions = append(beta.Spec.Versions, version.CustomResourceDefinitionVersion)
	}
	return defaulted(beta)
}

func newRecord(crd *apiextensionsv1.CustomResourceDefinition, entry *dynamicstorage.Entry) *Record {
	r := &Record{
		ObjectMeta: metav1.ObjectMeta{
			Name:              crd.Name,
			UID:               crd.UID,
			Generation:        crd.Generation,
			ResourceVersion:   strconv.FormatInt(entry.Revision, 10),
			CreationTimestamp: crd.CreationTimestamp,
			DeletionTimestamp: crd.DeletionTimestamp,
			Finalizers:        crd.Finalizers,
		},
		Revision:              entry.Revision,
		Group:                 crd.Spec.Group,
		Names:                 crd.Spec.Names,
		AcceptedNames:         crd.Status.AcceptedNames,
		Namespaced:            crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		PreserveUnknownFields: crd.Spec.PreserveUnknownFields,
		StoredVersions:        crd.Status.StoredVersions,
		NamesAccepted:         apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted),
		Established:           apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established),
		NonStructural:         apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NonStructuralSchema),
		Terminating: crd.DeletionTimestamp != nil ||
			apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Terminating),
		entry: entry,
	}
	for _, v := range crd.Spec.Versions {
		version := Version{Name: v.Name, Served: v.Served, Storage: v.Storage, Deprecated: v.Deprecated}
		if v.DeprecationWarning != nil {
			version.DeprecationWarning = *v.DeprecationWarning
		}
		if v.Subresources != nil {
			version.Status, version.Scale = v.Subresources.Status != nil, v.Subresources.Scale != nil
		}
		r.Versions = append(r.Versions, version)
	}
	return r
}

func specHash(spec []byte, accepted *apiextensionsv1.CustomResourceDefinitionNames) string {
	h := sha256.New()
	h.Write(spec)
	// Names are strings: encoding them cannot fail.
	names, _ := json.Marshal(accepted)
	h.Write(names)
	return hex.EncodeToString(h.Sum(nil)[:16])
}
