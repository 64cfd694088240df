package validation

import (
	"sync/atomic"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// node is the compiled form of one node of a structural schema. It is compiled when the first value meets it, because
// objects use a small part of a large schema. It is safe for concurrent use.
type node struct {
	types    kinds // anyKind without a type
	nullable bool
	// formatted means that there is a format, with which the library is more lenient about types.
	formatted bool
	// opaque means that there is a keyword that only the library understands.
	opaque bool

	preserve, embedded bool
	defaultValue       any
	// defaultSize is the minSize of defaultValue, 0 if there is none.
	defaultSize int

	enum   *enumCheck
	text   *textCheck
	number *numberCheck
	list   *listNode
	object *objectNode
	logic  *logicCheck
}

// listNode and objectNode hold the keywords for lists and objects. Limits that are nil are not set.
type (
	listNode struct {
		minItems, maxItems *int64
		items              *child
	}
	objectNode struct {
		minProperties, maxProperties *int64
		required                     []string
		properties                   children
		// defaults are the properties that have one.
		defaults []propertyDefault
		// additional is the schema of undeclared properties. Without it, open means that they may be anything, closed
		// that there must be none.
		additional   *child
		open, closed bool
	}
	propertyDefault struct {
		name     string
		value    any
		size     int // minSize of name and value
		nullable bool
	}
)

// child is a node that is compiled on first use. Two goroutines may compile it at the same time, with equal results.
type child struct {
	source   *structuralschema.Structural
	compiled atomic.Pointer[node]
}

func (c *child) get() *node {
	if c == nil {
		return nil
	}
	if compiled := c.compiled.Load(); compiled != nil {
		return compiled
	}
	compiled := compileNode(c.source)
	c.compiled.Store(compiled)
	return compiled
}

// children are the properties of an object. Each is compiled like a child.
type children struct {
	sources  map[string]structuralschema.Structural
	compiled map[string]*atomic.Pointer[node]
}

func newChildren(sources map[string]structuralschema.Structural) children {
	if len(sources) == 0 {
		return children{}
	}
	c := children{sources: sources, compiled: make(map[string]*atomic.Pointer[node], len(sources))}
	pointers := make([]atomic.Pointer[node], len(sources))
	n := 0
	for name := range sources {
		c.compiled[name] = &pointers[n]
		n++
	}
	return c
}

// get returns the node of a property, nil if the schema does not declare it.
func (c *children) get(name string) *node {
	pointer, ok := c.compiled[name]
	if !ok {
		return nil
	}
	if compiled := pointer.Load(); compiled != nil {
		return compiled
	}
	source := c.sources[name]
	compiled := compileNode(&source)
	pointer.Store(compiled)
	return compiled
}

// property returns the node of a declared or additional property, nil if there is none.
func (n *node) property(name string) *node {
	if n == nil || n.object == nil {
		return nil
	}
	if property := n.object.properties.get(name); property != nil {
		return property
	}
	return n.object.additional.get()
}

// items returns the node of the items of a list, nil if there is none.
func (n *node) items() *node {
	if n == nil || n.list == nil {
		return nil
	}
	return n.list.items.get()
}

// statusNode returns the node of the status.
func (n *node) statusNode() *node {
	switch {
	case n.object != nil:
		if declared := n.object.properties.get("status"); declared != nil {
			return declared
		}
	case n.opaque:
		return n
	}
	return &node{types: anyKind}
}

// compileNode compiles one node and its allOf, anyOf, oneOf and not. The node is opaque if it cannot be compiled
// exactly.
func compileNode(s *structuralschema.Structural) *node {
	types, known := kindsByName[s.Type]
	if s.XIntOrString {
		types, known = integerKind|stringKind, true
	}
	n := &node{
		types: types, opaque: !known, nullable: s.Nullable,
		preserve: s.XPreserveUnknownFields, embedded: s.XEmbeddedResource, defaultValue: s.Default.Object,
	}
	if n.defaultValue != nil {
		n.defaultSize = minSize(n.defaultValue)
	}
	values := s.ValueValidation
	if values == nil {
		values = &structuralschema.ValueValidation{}
	}
	format := supportedFormat(s, values.Format)
	n.formatted = format != ""
	n.opaque = n.opaque || values.UniqueItems
	n.compileEnum(values)
	n.compileText(values, format)
	n.compileNumber(values, format)
	n.compileList(s, values)
	n.compileObject(s, values)
	n.compileLogic(values)
	return n
}

// supportedFormat returns the format, "" if the server does not support it for values of the type.
func supportedFormat(s *structuralschema.Structural, format string) string {
	if format == "" {
		return ""
	}
	converted := &spec.Schema{SchemaProps: spec.SchemaProps{Format: format}}
	switch {
	case s.XIntOrString:
		converted.Type = spec.StringOrArray{"integer", "string"}
	case s.Type != "":
		converted.Type = spec.StringOrArray{s.Type}
	}
	strip := apiservervalidation.StripUnsupportedFormatsPostProcessorForVersion(environment.DefaultCompatibilityVersion())
	if err := strip(converted); err != nil {
		return format
	}
	return converted.Format
}

func (n *node) compileText(values *structuralschema.ValueValidation, format string) {
	if !strfmt.Default.ContainsName(format) {
		format = ""
	}
	if values.MinLength == nil && values.MaxLength == nil && values.Pattern == "" && format == "" {
		return
	}
	n.text = &textCheck{minLength: values.MinLength, maxLength: values.MaxLength, pattern: values.Pattern, format: format}
}

// compileNumber compiles the keywords for numbers. The library refuses every number if a limit is not of the type, such
// as 0.5 for integers.
func (n *node) compileNumber(values *structuralschema.ValueValidation, format string) {
	var typeName string
	switch n.types {
	case integerKind:
		typeName = "integer"
	case numberKind:
		typeName = "number"
	default:
		format = ""
	}
	for _, limit := range []*float64{values.Minimum, values.Maximum, values.MultipleOf} {
		if limit != nil && validate.IsValueValidAgainstRange(*limit, typeName, format, "", "") != nil {
			n.opaque = true
		}
	}
	if format == "int64" || format == "double" {
		format = "" // every number is in their range
	}
	if format == "" && values.Minimum == nil && values.Maximum == nil && values.MultipleOf == nil {
		return
	}
	n.number = &numberCheck{
		typeName: typeName, format: format,
		minimum: values.Minimum, maximum: values.Maximum, multipleOf: values.MultipleOf,
		exclusiveMinimum: values.ExclusiveMinimum, exclusiveMaximum: values.ExclusiveMaximum,
	}
}

func (n *node) compileList(s *structuralschema.Structural, values *structuralschema.ValueValidation) {
	if values.MinItems == nil && values.MaxItems == nil && s.Items == nil {
		return
	}
	n.list = &listNode{minItems: values.MinItems, maxItems: values.MaxItems}
	if s.Items != nil {
		n.list.items = &child{source: s.Items}
	}
}

func (n *node) compileObject(s *structuralschema.Structural, values *structuralschema.ValueValidation) {
	if values.MinProperties == nil && values.MaxProperties == nil && len(values.Required) == 0 && len(s.Properties) == 0 &&
		s.AdditionalProperties == nil {
		return
	}
	n.object = &objectNode{
		minProperties: values.MinProperties, maxProperties: values.MaxProperties, required: values.Required,
		properties: newChildren(s.Properties),
	}
	for name := range s.Properties {
		if property := s.Properties[name]; property.Default.Object != nil {
			n.object.defaults = append(n.object.defaults, propertyDefault{
				name: name, value: property.Default.Object, size: minSize(name) + minSize(property.Default.Object),
				nullable: property.Nullable,
			})
		}
	}
	switch additional := s.AdditionalProperties; {
	case additional == nil:
	case additional.Structural != nil:
		n.object.additional = &child{source: additional.Structural}
	default:
		n.object.open, n.object.closed = additional.Bool, !additional.Bool
	}
}
