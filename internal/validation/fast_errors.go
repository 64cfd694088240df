package validation

import (
	"context"
	"fmt"
	"reflect"
	"unicode/utf8"

	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/common"
	celopenapi "k8s.io/apiserver/pkg/cel/openapi"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// maxErrors limits the errors that the library reports for one object. The library compares every error with all
// previous ones, so an object of one megabyte could keep it busy for many minutes. See docs/upstream.md, "Quadratic
// error lists".
const maxErrors = 500

// errorSearch is the validator that makes the library report the errors of one object. It hides from the library all
// values that are valid, and all values that an update has not changed, whose errors upstream drops (T9). It stops
// after maxErrors errors or when ctx is done. An errorSearch is for one validation.
type errorSearch struct {
	ctx    context.Context
	node   *node
	schema *spec.Schema
	// left is how many more errors the library may report.
	left int
	// incomplete means that the search has stopped early.
	incomplete bool
	// matching counts the work of patterns.
	matching *matching
}

var _ apiservervalidation.SchemaValidator = (*errorSearch)(nil)

// Validate returns the errors of a new value.
func (s *errorSearch) Validate(value any, _ ...apiservervalidation.ValidationOption) *validate.Result {
	return s.begin(nil).Validate(value)
}

// ValidateUpdate returns the errors of a changed value, as upstream's ratcheting validator does.
func (s *errorSearch) ValidateUpdate(value, old any, options ...apiservervalidation.ValidationOption) *validate.Result {
	opts := apiservervalidation.NewValidationOptions(options...)
	switch {
	case !opts.Ratcheting:
		return s.Validate(value)
	case opts.CorrelatedObject == nil:
		return s.begin(common.NewCorrelatedObject(value, old, &celopenapi.Schema{Schema: s.schema})).Validate(value)
	}
	return s.begin(opts.CorrelatedObject).Validate(value)
}

func (s *errorSearch) visit() *visit {
	return &visit{ctx: s.ctx, left: workPerCheck, matching: s.matching}
}

func (s *errorSearch) begin(change *common.CorrelatedObject) *valueValidator {
	return &valueValidator{search: s, node: s.node, change: change, schema: s.schema}
}

// valueValidator is the validator of one value of an errorSearch. The library calls it for every property and item.
type valueValidator struct {
	search *errorSearch
	node   *node                    // nil if the schema of the value has no compiled form
	change *common.CorrelatedObject // nil if there is no old value
	schema *spec.Schema
	path   string
}

var _ validate.ValueValidator = (*valueValidator)(nil)

// Validate returns the errors of the value, unless it is valid or unchanged.
func (v *valueValidator) Validate(value any) *validate.Result {
	switch {
	case v.node != nil && v.node.check(v.search.visit(), value) == valid, v.change.CachedDeepEqual():
		return &validate.Result{}
	case v.search.left <= 0, len(v.search.matching.refused) >= maxErrors, v.search.ctx.Err() != nil:
		v.search.incomplete = true
		return &validate.Result{}
	}
	before := v.search.left
	schema, logicErr := v.withoutLogic(value)
	schema, patternErr := v.withoutPattern(schema, value)
	result := validate.NewSchemaValidator(schema, nil, v.path, strfmt.Default, v.validateChildren).Validate(value)
	for _, err := range []error{logicErr, patternErr} {
		if err != nil {
			result.AddErrors(err)
		}
	}
	v.search.left = min(v.search.left, before-cost(result.Errors)) // result includes the errors of the children
	return result
}

// cost weighs errors by the length of their messages, which may for example list all allowed values.
func cost(errs []error) (cost int) {
	for _, err := range errs {
		cost += 1 + len(err.Error())/200
	}
	return cost
}

// validateChildren makes the library use valueValidators for properties and items. The library ignores it inside allOf,
// anyOf, oneOf and not, so nothing is hidden where fewer errors could make a value invalid.
func (v *valueValidator) validateChildren(options *validate.SchemaValidatorOptions) {
	options.NewValidatorForField = func(name string, schema *spec.Schema, _ any, path string, _ strfmt.Registry,
		_ ...validate.Option) validate.ValueValidator {
		change := v.change.Key(name)
		if v.path == "" && (name == "apiVersion" || name == "kind") {
			change = nil // upstream drops no errors of these
		}
		return &valueValidator{search: v.search, node: v.node.property(name), change: change, schema: schema, path: path}
	}
	options.NewValidatorForIndex = func(index int, schema *spec.Schema, _ any, path string, _ strfmt.Registry,
		_ ...validate.Option) validate.ValueValidator {
		return &valueValidator{search: v.search, node: v.node.items(), change: v.change.Index(index), schema: schema,
			path: path}
	}
}

// withoutPattern returns a schema for a value. If the match is long, it removes the pattern, which the library would
// match to its end, and returns the library's error if the value does not match it. As in the library, a string of a
// wrong length has no such error.
func (v *valueValidator) withoutPattern(schema *spec.Schema, value any) (*spec.Schema, error) {
	text, ok := value.(string)
	if !ok || schema.Pattern == "" {
		return schema, nil
	}
	compiled, err := v.pattern()
	if err != nil || compiled.plain(text) {
		return schema, nil
	}
	bare := *schema
	bare.Pattern = ""
	length := int64(utf8.RuneCountInString(text))
	if schema.MaxLength != nil && length > *schema.MaxLength || schema.MinLength != nil && length < *schema.MinLength {
		return &bare, nil
	}
	switch v.search.matching.match(v.search.ctx, compiled, text) {
	case invalid:
		return &bare, openapierrors.FailedPattern(v.path, "body", schema.Pattern, text)
	case unknown:
		if v.search.ctx.Err() != nil {
			v.search.incomplete = true
			break
		}
		v.search.matching.refuse(v.path, schema.Pattern, text)
		v.search.left--
	}
	return &bare, nil
}

// pattern returns the compiled pattern of the schema.
func (v *valueValidator) pattern() (*pattern, error) {
	compile := func() (*pattern, error) { return compilePattern(v.schema.Pattern) }
	if v.node != nil && v.node.text != nil && v.node.text.pattern == v.schema.Pattern {
		return v.node.text.compiled.get(compile)
	}
	return compile()
}

// maxLogicValues is the size of the largest value that the library validates against allOf, anyOf, oneOf and not. The
// library collects and compares the errors of all branches, even if another branch matches.
const maxLogicValues = 5000

// maxPlainValues is the size of the largest value that the library validates against allOf, anyOf, oneOf and not before
// it is known how long its strings take to match. 4 KiB of text count as much.
const maxPlainValues = 4096 / textPerVisit

// withoutLogic returns the schema of the value. If the value is large or takes too long to match, it removes allOf,
// anyOf, oneOf and not from the schema and returns an error if the value does not match them.
func (v *valueValidator) withoutLogic(value any) (*spec.Schema, error) {
	s, refused := v.schema, v.search.matching.refusals
	if len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) == 0 && s.Not == nil || !exceeds(value, maxPlainValues) {
		return s, nil
	}
	large, matches := exceeds(value, maxLogicValues), v.matchesLogic(value)
	costly := v.search.matching.refusals > refused
	if !large && !costly {
		return s, nil
	}
	var err error
	if !matches && !costly {
		err = fmt.Errorf("%q must validate its schemas (allOf, anyOf, oneOf, not); it is too large to tell why it does not",
			v.path)
	}
	bare := *v.schema
	bare.AllOf, bare.AnyOf, bare.OneOf, bare.Not = nil, nil, nil, nil
	return &bare, err
}

// matchesLogic reports whether the value matches the allOf, anyOf, oneOf and not of its schema. It visits them all.
func (v *valueValidator) matchesLogic(value any) bool {
	nodes := &logicCheck{}
	if v.node != nil && v.node.logic != nil {
		nodes = v.node.logic
	}
	matching := func(branches []*node, schemas []spec.Schema) (count int) {
		for i := range schemas {
			var n *node
			if i < len(branches) {
				n = branches[i]
			}
			if v.matches(n, &schemas[i], value) {
				count++
			}
		}
		return count
	}
	s := v.schema
	allOf, anyOf, oneOf := matching(nodes.allOf, s.AllOf), matching(nodes.anyOf, s.AnyOf), matching(nodes.oneOf, s.OneOf)
	excluded := s.Not != nil && v.matches(nodes.not, s.Not, value)
	return allOf == len(s.AllOf) && (len(s.AnyOf) == 0 || anyOf > 0) && (len(s.OneOf) == 0 || oneOf == 1) && !excluded
}

// matches reports whether a value matches one branch. It stops at the first error, or when ctx is done.
func (v *valueValidator) matches(n *node, schema *spec.Schema, value any) bool {
	branch := &errorSearch{ctx: v.search.ctx, node: n, schema: schema, left: 1, matching: v.search.matching}
	refused := v.search.matching.refusals
	result := (&valueValidator{search: branch, node: n, schema: schema, path: v.path}).Validate(value)
	if branch.ctx.Err() != nil {
		v.search.incomplete = true
	}
	return result.IsValid() && !branch.incomplete && v.search.matching.refusals == refused
}

// exceeds reports whether a value consists of more than limit values. Long strings count as several.
func exceeds(value any, limit int) bool {
	left := limit
	var count func(value any)
	count = func(value any) {
		left--
		switch value := value.(type) {
		case string:
			left -= len(value) / textPerVisit
		case []any:
			for i := 0; i < len(value) && left >= 0; i++ {
				count(value[i])
			}
		case map[string]any:
			for _, member := range value {
				if left < 0 {
					return
				}
				count(member)
			}
		}
	}
	count(value)
	return left < 0
}

// SetPath implements validate.ValueValidator. The library calls it only on validators that it keeps.
func (v *valueValidator) SetPath(path string) { v.path = path }

// Applies implements validate.ValueValidator.
func (v *valueValidator) Applies(any, reflect.Kind) bool { return true }
