package crds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"weak"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Stored is a stored CRD. Its schemas are decoded on demand.
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
	return &Stored{Outline: outline, entry: entry,
		known: &known{spec: s.Spec, statusAt: statusAt(entry.Value, s.Spec, s.Status), outline: outline}}, nil
}

// Definition returns the whole CRD, perhaps without the resourceVersion. It may be shared and must not be modified.
func (s *Stored) Definition() (*apiextensions.CustomResourceDefinition, error) {
	if crd := s.known.definition.Value(); crd != nil {
		return crd, nil
	}
	return DecodeDefinition(s.entry.Value, s.entry.Revision)
}

// WithStatus returns the value to store for the CRD with another status.
func (s *Stored) WithStatus(status *apiextensionsv1.CustomResourceDefinitionStatus) ([]byte, error) {
	if s.known.statusAt == 0 {
		return s.encodeWith(status)
	}
	// The status is the same JSON in v1beta1.
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

// encodeWith is WithStatus for values that EncodeDefinition would not write in the same way.
func (s *Stored) encodeWith(status *apiextensionsv1.CustomResourceDefinitionStatus) ([]byte, error) {
	crd, err := DecodeDefinition(s.entry.Value, s.entry.Revision)
	if err != nil {
		return nil, err
	}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinitionStatus_To_apiextensions_CustomResourceDefinitionStatus(
		status, &crd.Status, nil); err != nil {
		return nil, fmt.Errorf("converting the status of CustomResourceDefinition %s: %w", crd.Name, err)
	}
	return EncodeDefinition(crd)
}

// statusAt returns the offset of beforeStatus in a value that EncodeDefinition wrote, and 0 for other values.
func statusAt(value, spec, status []byte) int {
	at := len(value) - len(beforeStatus) - len(status) - len(afterStatus)
	if at <= len(spec) || !bytes.HasPrefix(value, beforeMetadata) {
		return 0
	}
	tail := value[at-len(spec):]
	for _, text := range [][]byte{spec, beforeStatus, status, afterStatus} {
		if !bytes.HasPrefix(tail, text) {
			return 0
		}
		tail = tail[len(text):]
	}
	return at
}

// known is a CRD as this process wrote it. It is immutable.
type known struct {
	// spec is the part of the value that has the spec; statusAt is the offset of beforeStatus in the value.
	spec     []byte
	statusAt int
	outline  *apiextensionsv1.CustomResourceDefinition
	// definition is the CRD as long as the request that wrote it uses it. It is weak because a decoded CRD takes a hundred
	// times the memory of its value.
	definition weak.Pointer[apiextensions.CustomResourceDefinition]
}

// recent has the values that this process wrote last, so that it need not decode them when it computes their
// conditions and gets their events. A key is the address of a value's first byte, because entries keep the slice that
// was written. Keys keep their values in memory, so an address is not used again. Missing values are decoded.
var recent = cache.NewLRUExpireCache(16)

// rememberedFor is longer than a CRD takes to be established.
const rememberedFor = time.Minute

func remember(value []byte, k *known) { recent.Add(&value[0], k, rememberedFor) }

// recall returns nil for most values.
func recall(value []byte) *known {
	if len(value) == 0 {
		return nil
	}
	if found, ok := recent.Get(&value[0]); ok {
		return found.(*known)
	}
	return nil
}
