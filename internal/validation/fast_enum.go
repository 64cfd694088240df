package validation

import (
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// enumCheck holds the allowed values.
type enumCheck struct {
	texts  []string // sorted
	others []any
}

// check reports whether the value is allowed. It leaves objects, lists, and the conversion of numbers to the library.
func (c *enumCheck) check(value any) verdict {
	switch value := value.(type) {
	case string:
		_, ok := slices.BinarySearch(c.texts, value)
		return verdictOf(ok)
	case bool, int64, float64:
		for _, other := range c.others {
			if other == value {
				return valid
			}
		}
	}
	return unknown
}

func (n *node) compileEnum(values *structuralschema.ValueValidation) {
	if len(values.Enum) == 0 {
		return
	}
	n.enum = &enumCheck{}
	for _, value := range values.Enum {
		if text, ok := value.Object.(string); ok {
			n.enum.texts = append(n.enum.texts, text)
		} else {
			n.enum.others = append(n.enum.others, value.Object)
		}
	}
	slices.Sort(n.enum.texts)
}
