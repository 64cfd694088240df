package crds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Stored is a stored CRD of which no more is decoded than is asked for.
type Stored struct {
	// Outline is the CRD without its schemas. It is shared and must not be modified.
	Outline *apiextensionsv1.CustomResourceDefinition

	entry *dynamicstorage.Entry
	known *known
}

// Open reads the outline of a CRD.
func Open(entry *dynamicstorage.Entry) (*Stored, error) {
	if entry.Value == nil {
		return nil, entry.Err
	}
	if k := recall(entry.Value); k != nil {
		return &Stored{Outline: k.outline, entry: entry, known: k}, nil
	}
	s, err := decodeStored(entry.Value, entry.Revision)
	if err != nil {
		return nil, err
	}
	outline, err := s.withoutSchemas()
	if err != nil {
		return nil, err
	}
	return &Stored{Outline: outline, entry: entry, known: &known{spec: s.Spec, statusAt: statusAt(entry.Value, s.Spec, s.Status), outline: outline}}, nil
}

// Definition is the whole CRD, but perhaps for the resourceVersion. It may be shared, and must not be modified.
func (s *Stored) Definition() (*apiextensions.CustomResourceDefinition, error) {
	if crd := s.known.definition.Value(); crd != nil {
		return crd, nil
	}
	return DecodeDefinition(s.entry.Value, s.entry.Revision)
}

// WithStatus is the value to store for the CRD with another status.
func (s *Stored) WithStatus(status *apiextensionsv1.CustomResourceDefinitionStatus) ([]byte, error) {
	if s.known.statusAt == 0 {
		return s.encodeWith(status)
	}
	// v1beta1 writes a status in the same way.
	encoded, err := json.Marshal(status)
	if err != nil {
		return nil, fmt.Errorf("encoding the status of CustomResourceDefinition %s: %w", s.Outline.Name, err)
	}
	before := s.entry.Value[:s.known.statusAt]
	value := slices.Concat(before, beforeStatus, encoded, afterStatus)
	outline := *s.Outline
	outline.Status = *status.DeepCopy()
	after := &known{statusAt: s.known.statusAt, outline: &outline}
	specAt := len(before) - len(s.known.spec)
	after.spec = value[specAt : specAt+len(s.known.spec)]
	remember(value, after)
	return value, nil
}

// encodeWith is WithStatus for what was not stored in the form in which it is now.
func (s *Stored) encodeWith(status *apiextensionsv1.CustomResourceDefinitionStatus) ([]byte, error) {
	crd, err := DecodeDefinition(s.entry.Value, s.entry.Revision)
	if err != nil {
		return nil, err
	}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinitionStatus_To_apiextensions_CustomResourceDefinitionStatus(status, &crd.Status, nil); err != nil {
		return nil, fmt.Errorf("converting the status of CustomResourceDefinition %s: %w", crd.Name, err)
	}
	return EncodeDefinition(crd)
}

// statusAt is where the status begins, with what comes before it, in a value of the form that EncodeDefinition gives it; 0
// in any other.
func statusAt(value, spec, status []byte) int {
	at := len(value) - len(beforeStatus) - len(status) - len(afterStatus)
	if at <= len(spec) || !bytes.HasPrefix(value, beforeMetadata) {
		return 0
	}
	tail := value[at-len(spec):]
	for _, part := range [][]byte{spec, beforeStatus, status, afterStatus} {
		if !bytes.HasPrefix(tail, part) {
			return 0
		}
		tail = tail[len(part):]
	}
	return at
}
