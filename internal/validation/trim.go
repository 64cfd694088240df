package validation

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// embedded returns what of the structural schema leads to embedded resources, nil when there are none. The library's walks that
// are about nothing else go through all of an object otherwise, noting the path of every value.
func (v *Version) embedded() (*structuralschema.Structural, error) {
	return v.embeddedResources.get(func() (*structuralschema.Structural, error) {
		s, err := v.Structural()
		if err != nil || !v.count().embedded {
			return nil, err
		}
		return trim(s, func(s *structuralschema.Structural) bool { return s.XEmbeddedResource }), nil
	})
}

// keyed returns what of the structural schema leads to lists whose items must be unique, nil when there are none.
func (v *Version) keyed() (*structuralschema.Structural, error) {
	return v.keyedLists.get(func() (*structuralschema.Structural, error) {
		s, err := v.Structural()
		return trim(s, isKeyed), err
	})
}

func isKeyed(s *structuralschema.Structural) bool {
	return s.XListType != nil && *s.XListType != "atomic"
}

// trim returns a schema with those nodes only that are to be kept, whole, or lead to one. It is nil if there is none. What is
// kept is shared with s.
func trim(s *structuralschema.Structural, keep func(*structuralschema.Structural) bool) *structuralschema.Structural {
	if s == nil || keep(s) {
		return s
	}
	trimmed := &structuralschema.Structural{Items: trim(s.Items, keep)}
	if s.AdditionalProperties != nil {
		if values := trim(s.AdditionalProperties.Structural, keep); values != nil {
			trimmed.AdditionalProperties = &structuralschema.StructuralOrBool{Structural: values, Bool: s.AdditionalProperties.Bool}
		}
	}
	for name := range s.Properties {
		property := s.Properties[name]
		kept := trim(&property, keep)
		switch {
		case kept != nil:
		case trimmed.AdditionalProperties != nil:
			// A property that were missing would be taken for an additional one.
			kept = &structuralschema.Structural{}
		default:
			continue
		}
		if trimmed.Properties == nil {
			trimmed.Properties = map[string]structuralschema.Structural{}
		}
		trimmed.Properties[name] = *kept
	}
	if trimmed.Items == nil && trimmed.AdditionalProperties == nil && trimmed.Properties == nil {
		return nil
	}
	return trimmed
}
