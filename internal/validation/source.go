package validation

import (
	"fmt"
	"sync"
	"weak"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// source decodes the CRD of a set. Parts are mostly compiled one after the other, so what was decoded for one serves
// the next, unless memory was collected in between: only those who are compiling hold it.
type source struct {
	decode func() (*apiextensions.CustomResourceDefinition, error)

	mu      sync.Mutex // guards decoded, and is held while decoding, so that nothing is decoded twice
	decoded weak.Pointer[apiextensions.CustomResourceDefinition]
}

// definition returns the whole CRD, which must not be modified.
func (s *source) definition() (*apiextensions.CustomResourceDefinition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if crd := s.decoded.Value(); crd != nil {
		return crd, nil
	}
	crd, err := s.decode()
	if err != nil {
		return nil, fmt.Errorf("%w: reading it: %w", ErrSchema, err)
	}
	s.decoded = weak.Make(crd)
	return crd, nil
}
