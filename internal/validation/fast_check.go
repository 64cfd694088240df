package validation

import (
	"math"
	"regexp"
	"unicode/utf8"

	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// verdict is the result of checking a value.
type verdict uint8

const (
	// unknown means that only the library can decide.
	unknown verdict = iota
	// valid means that the library would find no error.
	valid
	// invalid means that the library would find at least one error.
	invalid
)

// textCheck and numberCheck hold the keywords for values of one type. Limits that are nil are not set.
type (
	textCheck struct {
		minLength, maxLength *int64
		format               string
		pattern              string
		compiled             lazy[*regexp.Regexp] // of pattern; reading objects does not need it
	}
	numberCheck struct {
		typeName, format                   string
		minimum, maximum, multipleOf       *float64
		exclusiveMinimum, exclusiveMaximum bool
	}
)

// check reports whether a value is valid, as the library does, but reports no errors: the caller gets those from the library unless
// the value is valid.
//
// Values are those that JSON is decoded to: string, int64, float64, bool, nil, map[string]any and []any.
func (n *node) check(value any) verdict {
	if n.opaque {
		return unknown
	}
	if value == nil {
		return verdictOf((n.types == anyKind || n.nullable || n.types.has(nullKind)) && n.enum == nil)
	}
	if v := n.checkType(value); v != valid {
		return v
	}
	if n.enum != nil {
		if v := n.enum.check(value); v != valid {
			return v
		}
	}
	if n.logic != nil {
		if v := n.logic.check(value); v != valid {
			return v
		}
	}
	switch value := value.(type) {
	case string:
		return n.text.check(value)
	case int64, float64:
		return n.number.check(value)
	case []any:
		return n.list.check(value)
	case map[string]any:
		return n.object.check(value)
	}
	return valid
}

// maxExact bounds the integers that a float64 represents exactly.
const maxExact = 1 << 53

func (n *node) checkType(value any) verdict {
	kind := kindOf(value)
	switch {
	case kind == 0:
		return unknown
	case n.types == anyKind && !n.formatted, n.types.has(kind):
		return valid
	case kind == integerKind && n.types.has(numberKind):
		return valid
	case kind == numberKind && n.types.has(integerKind):
		// The library accepts numbers that are nearly integers.
		f := value.(float64)
		if f == math.Trunc(f) && math.Abs(f) < maxExact {
			return valid
		}
		return unknown
	case n.formatted:
		if n.types == anyKind && kind == stringKind {
			return valid
		}
		return unknown
	}
	return invalid
}

func (c *textCheck) check(text string) verdict {
	if c == nil {
		return valid
	}
	if c.maxLength != nil || c.minLength != nil {
		length := int64(utf8.RuneCountInString(text))
		if c.maxLength != nil && length > *c.maxLength || c.minLength != nil && length < *c.minLength {
			return invalid
		}
	}
	if c.pattern != "" {
		if v := c.checkPattern(text); v != valid {
			return v
		}
	}
	return verdictOf(c.format == "" || strfmt.Default.Validates(c.format, text))
}

func (c *textCheck) checkPattern(text string) verdict {
	compiled, err := c.compiled.get(func() (*regexp.Regexp, error) { return regexp.Compile(c.pattern) })
	if err != nil {
		return unknown
	}
	return verdictOf(compiled.MatchString(text))
}

// check calls the functions that the library has for single keywords.
func (c *numberCheck) check(number any) verdict {
	if c == nil {
		return valid
	}
	return verdictOf((c.format == "" || c.inRange(number)) &&
		(c.minimum == nil || validate.MinimumNativeType("", "", number, *c.minimum, c.exclusiveMinimum) == nil) &&
		(c.maximum == nil || validate.MaximumNativeType("", "", number, *c.maximum, c.exclusiveMaximum) == nil) &&
		(c.multipleOf == nil || validate.MultipleOfNativeType("", "", number, *c.multipleOf) == nil))
}

func (c *numberCheck) inRange(number any) bool {
	if integer, ok := number.(int64); ok && c.format == "int32" {
		return integer == int64(int32(integer)) // the library formats and parses the number
	}
	return validate.IsValueValidAgainstRange(number, c.typeName, c.format, "", "") == nil
}

func (c *listNode) check(items []any) verdict {
	if c == nil {
		return valid
	}
	size := int64(len(items))
	if c.minItems != nil && size < *c.minItems || c.maxItems != nil && size > *c.maxItems {
		return invalid
	}
	if c.items == nil || size == 0 {
		return valid
	}
	each := c.items.get()
	for _, item := range items {
		if v := each.check(item); v != valid {
			return v
		}
	}
	return valid
}

func (c *objectNode) check(fields map[string]any) verdict {
	if c == nil {
		return valid
	}
	size := int64(len(fields))
	if c.minProperties != nil && size < *c.minProperties || c.maxProperties != nil && size > *c.maxProperties {
		return invalid
	}
	for _, name := range c.required {
		if _, ok := fields[name]; !ok {
			return invalid
		}
	}
	if c.properties.sources == nil && c.additional == nil && !c.closed {
		return valid
	}
	for name, value := range fields {
		var v verdict
		property := c.properties.get(name)
		switch {
		case property != nil:
			v = property.check(value)
		case c.closed:
			return invalid
		case c.additional != nil:
			v = c.additional.get().check(value)
		default:
			continue
		}
		if v != valid {
			return v
		}
	}
	return valid
}

func verdictOf(ok bool) verdict {
	if ok {
		return valid
	}
	return invalid
}

// enumCheck holds the allowed values.
type enumCheck struct {
	texts  []string
	others []any
}

// check reports whether the value is allowed. It leaves objects, lists, and the conversion of numbers to the library.
func (c *enumCheck) check(value any) verdict {
	switch value := value.(type) {
	case string:
		for _, text := range c.texts {
			if text == value {
				return valid
			}
		}
		return invalid
	case bool, int64, float64:
		for _, other := range c.others {
			if other == value {
				return valid
			}
		}
	}
	return unknown
}
