package validation

import (
	"context"
	"fmt"
	"reflect"

	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"
	celopenapi "k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// maxFaults bounds what the library may complain about in one value. It compares every error with all that it has found, so that an
// object of a megabyte could keep it busy for many minutes.
const maxFaults = 500

// search has the library look for the faults of one value, but shows it nothing that has none: what is certainly valid, and what is as it
// was before, whose faults upstream lets the library find and then drops (T9). It ends when it has found very many, or with its request. It serves
// one call.
type search struct {
	ctx    context.Context
	node   *node
	schema *spec.Schema
	// left is how many faults may still be found.
	left int
	// cut says that something was not looked at any more.
	cut bool
}

var _ apiservervalidation.SchemaValidator = (*search)(nil)

// faults holds a value against a schema, which is node in our form; validate calls the library with the validator. Not all are found when ctx is
// done.
func faults(ctx context.Context, n *node, schema *spec.Schema, validate func(validator apiservervalidation.SchemaValidator) field.ErrorList) field.ErrorList {
	s := &search{ctx: ctx, node: n, schema: schema, left: maxFaults}
	errs := validate(s)
	if s.cut {
		errs = append(errs, &field.Error{Type: field.ErrorTypeTooMany, BadValue: maxFaults, Detail: "there are more errors; correct these to see the others"})
	}
	return errs
}

// Validate looks for the faults of a new value.
func (s *search) Validate(value any, _ ...apiservervalidation.ValidationOption) *validate.Result {
	return s.begin(nil).Validate(value)
}

// ValidateUpdate looks for the faults of a changed value, as upstream's ratcheting validator does.
func (s *search) ValidateUpdate(value, old any, options ...apiservervalidation.ValidationOption) *validate.Result {
	opts := apiservervalidation.NewValidationOptions(options...)
	switch {
	case !opts.Ratcheting:
		return s.Validate(value)
	case opts.CorrelatedObject == nil:
		return s.begin(common.NewCorrelatedObject(value, old, &celopenapi.Schema{Schema: s.schema})).Validate(value)
	}
	return s.begin(opts.CorrelatedObject).Validate(value)
}

func (s *search) begin(change *common.CorrelatedObject) *place {
	return &place{search: s, node: s.node, change: change, schema: s.schema}
}

// place is a value that a search comes to. The library is told of it as the validator of the value.
type place struct {
	search *search
	node   *node                    // nil where only the library knows the schema
	change *common.CorrelatedObject // nil if there is no value of before to compare with
	schema *spec.Schema
	path   string
}

var _ validate.ValueValidator = (*place)(nil)

// Validate returns the faults of the value that count.
func (p *place) Validate(value any) *validate.Result {
	switch {
	case p.node != nil && p.node.check(value) == valid, p.change.CachedDeepEqual():
		return &validate.Result{}
	case p.search.left <= 0, p.search.ctx.Err() != nil:
		p.search.cut = true
		return &validate.Result{}
	}
	before := p.search.left
	schema, fault := p.withoutLogic(value)
	result := validate.NewSchemaValidator(schema, nil, p.path, strfmt.Default, p.lookWithin).Validate(value)
	if fault != nil {
		result.AddErrors(fault)
	}
	p.search.left = min(p.search.left, before-cost(result.Errors)) // what was found within is in the result, too
	return result
}

// cost is what errors count for: messages may be long, such as those that name all values that are allowed.
func cost(errs []error) (cost int) {
	for _, err := range errs {
		cost += 1 + len(err.Error())/200
	}
	return cost
}

// lookWithin makes the search go on in the properties and items of the value. The library does not ask for those that it meets in allOf and
// the like, so that nothing is left out where fewer faults within might mean more outside.
func (p *place) lookWithin(options *validate.SchemaValidatorOptions) {
	options.NewValidatorForField = func(name string, schema *spec.Schema, _ any, path string, _ strfmt.Registry, _ ...validate.Option) validate.ValueValidator {
		change := p.change.Key(name)
		if p.path == "" && (name == "apiVersion" || name == "kind") {
			change = nil // upstream drops no fault of these
		}
		return &place{search: p.search, node: p.node.property(name), change: change, schema: schema, path: path}
	}
	options.NewValidatorForIndex = func(index int, schema *spec.Schema, _ any, path string, _ strfmt.Registry, _ ...validate.Option) validate.ValueValidator {
		return &place{search: p.search, node: p.node.items(), change: p.change.Index(index), schema: schema, path: path}
	}
}

// maxLogic bounds the values that the library holds against allOf and the like at once. It gathers and compares the faults of every branch,
// all of them, where other branches fit, too.
const maxLogic = 5000

// withoutLogic returns the schema; for a large value without its allOf, anyOf, oneOf and not, with the fault that they find.
func (p *place) withoutLogic(value any) (schema *spec.Schema, fault error) {
	if s := p.schema; len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) == 0 && s.Not == nil || !exceeds(value, maxLogic) {
		return p.schema, nil
	}
	if !p.fitsLogic(value) {
		fault = fmt.Errorf("%q must validate its schemas (allOf, anyOf, oneOf, not); it is too large to tell why it does not", p.path)
	}
	bare := *p.schema
	bare.AllOf, bare.AnyOf, bare.OneOf, bare.Not = nil, nil, nil, nil
	return &bare, fault
}

// fitsLogic says whether the value fits the allOf, anyOf, oneOf and not of its schema.
func (p *place) fitsLogic(value any) bool {
	nodes := &logicCheck{}
	if p.node != nil && p.node.logic != nil {
		nodes = p.node.logic
	}
	fits := func(of []*node, schemas []spec.Schema) (fitting int) {
		for i := range schemas {
			var n *node
			if i < len(of) {
				n = of[i]
			}
			if p.fits(n, &schemas[i], value) {
				fitting++
			}
		}
		return fitting
	}
	s := p.schema
	return fits(nodes.allOf, s.AllOf) == len(s.AllOf) &&
		(len(s.AnyOf) == 0 || fits(nodes.anyOf, s.AnyOf) > 0) &&
		(len(s.OneOf) == 0 || fits(nodes.oneOf, s.OneOf) == 1) &&
		(s.Not == nil || !p.fits(nodes.not, s.Not, value))
}

// fits says whether a value fits a branch. One fault is enough to say that it does not, or that nobody waits for an answer any more.
func (p *place) fits(n *node, schema *spec.Schema, value any) bool {
	branch := &search{ctx: p.search.ctx, node: n, schema: schema, left: 1}
	result := (&place{search: branch, node: n, schema: schema, path: p.path}).Validate(value)
	if branch.ctx.Err() != nil {
		p.search.cut = true
	}
	return result.IsValid() && !branch.cut
}

// exceeds says that there are more values in a value than the limit.
func exceeds(value any, limit int) bool {
	left := limit
	var count func(value any)
	count = func(value any) {
		left--
		switch value := value.(type) {
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

// SetPath is for validators that are kept; the library does not call it on these.
func (p *place) SetPath(path string) { p.path = path }

// Applies says that a place has a validator for all values.
func (p *place) Applies(any, reflect.Kind) bool { return true }
