package validation

import (
	"context"
	"math"
	"slices"
	"unicode/utf8"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
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
		compiled             lazy[*pattern] // of pattern; reading objects does not need it
	}
	numberCheck struct {
		typeName, format                   string
		minimum, maximum, multipleOf       *float64
		exclusiveMinimum, exclusiveMaximum bool
	}
)

// check reports whether a value is valid, as the library does, but reports no errors: the caller gets those from the
// library unless the value is valid.
//
// Values are those that JSON is decoded to: string, int64, float64, bool, nil, map[string]any and []any.
//
// The verdict is unknown, too, if the context of the visit is done.
func (n *node) check(v *visit, value any) verdict {
	if n.opaque || !v.spend(1) {
		return unknown
	}
	if value == nil {
		return verdictOf((n.types == anyKind || n.nullable || n.types.has(nullKind)) && n.enum == nil)
	}
	if found := n.checkType(value); found != valid {
		return found
	}
	if n.enum != nil {
		if found := n.enum.check(value); found != valid {
			return found
		}
	}
	if n.logic != nil {
		if found := n.logic.check(v, value); found != valid {
			return found
		}
	}
	switch value := value.(type) {
	case string:
		return n.text.check(v, value)
	case int64, float64:
		return n.number.check(value)
	case []any:
		return n.list.check(v, value)
	case map[string]any:
		return n.object.check(v, value)
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

func (c *textCheck) check(v *visit, text string) verdict {
	if c == nil {
		return valid
	}
	if !v.spend(len(text) / textPerVisit) {
		return unknown
	}
	if c.maxLength != nil || c.minLength != nil {
		length := int64(utf8.RuneCountInString(text))
		if c.maxLength != nil && length > *c.maxLength || c.minLength != nil && length < *c.minLength {
			return invalid
		}
	}
	if c.pattern != "" {
		if found := c.checkPattern(v, text); found != valid {
			return found
		}
	}
	return verdictOf(c.format == "" || strfmt.Default.Validates(c.format, text))
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

func (c *listNode) check(v *visit, items []any) verdict {
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
		if found := each.check(v, item); found != valid {
			return found
		}
	}
	return valid
}

func (c *objectNode) check(v *visit, fields map[string]any) verdict {
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
		found := valid
		property := c.properties.get(name)
		switch {
		case property != nil:
			found = property.check(v, value)
		case c.closed:
			return invalid
		case c.additional != nil:
			found = c.additional.get().check(v, value)
		}
		if found != valid {
			return found
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

// kinds is a set of JSON types. As in a schema, the empty set means any type.
type kinds uint8

const anyKind kinds = 0

const (
	nullKind kinds = 1 << iota
	booleanKind
	integerKind
	numberKind
	stringKind
	arrayKind
	objectKind
)

// kindsByName are the types that a schema can name.
var kindsByName = map[string]kinds{
	"": anyKind, "null": nullKind, "boolean": booleanKind, "integer": integerKind, "number": numberKind,
	"string": stringKind,
	"array":  arrayKind, "object": objectKind,
}

func (k kinds) has(kind kinds) bool {
	return k&kind != 0
}

// kindOf returns the kind of a value that is not nil, 0 if JSON is not decoded to such a value.
func kindOf(value any) kinds {
	switch value.(type) {
	case string:
		return stringKind
	case int64:
		return integerKind
	case map[string]any:
		return objectKind
	case []any:
		return arrayKind
	case bool:
		return booleanKind
	case float64:
		return numberKind
	}
	return 0
}

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

// visit is one walk over a value. It ends early when its context is done.
type visit struct {
	ctx context.Context
	// left is how much work is left until the next look at the context.
	left int
	// matching is shared by all visits of a validation. It is nil until a match is long.
	matching *matching
}

func newVisit(ctx context.Context) *visit { return &visit{ctx: ctx, left: workPerCheck} }

const (
	// workPerCheck is the number of values, about 50 microseconds of work, between two looks at the context.
	workPerCheck = 256
	// textPerVisit is how many bytes of a string count as much as a value.
	textPerVisit = 16
)

// spend counts work. It returns false if the context is done.
func (v *visit) spend(work int) bool {
	if v.left -= work; v.left > 0 {
		return true
	}
	v.left = workPerCheck
	return v.ctx.Err() == nil
}
