package validation

import (
	"fmt"
	"sync"
	"weak"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// source decodes the CRD of a set. Parts are mostly compiled one after the other, so what was decoded for one serves
// the next, unless memory was collected in between: only those who are compiling hold it.
type source struct {
	decode func() (*apiextensionsv1.CustomResourceDefinition, error)

	mu      sync.Mutex // guards decoded, and is held while decoding, so that nothing is decoded twice
	decoded weak.Pointer[apiextensionsv1.CustomResourceDefinition]
}

// definition returns the whole CRD, which must not be modified.
func (s *source) definition() (*apiextensionsv1.CustomResourceDefinition, error) {
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

// declaredSchema returns the schema that a CRD declares for a version, nil if there is none.
func declaredSchema(crd *apiextensionsv1.CustomResourceDefinition, version string) *apiextensionsv1.CustomResourceValidation {
	for n := range crd.Spec.Versions {
		if crd.Spec.Versions[n].Name == version {
			return crd.Spec.Versions[n].Schema
		}
	}
	return nil
}
