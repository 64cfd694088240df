package validation

import (
	"reflect"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apiextensionsfeatures "k8s.io/apiextensions-apiserver/pkg/features"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/cel/common"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// ratchet correlates an object with the one before it, so that errors at unchanged values can be dropped (T9). It is nil
// when the feature is off, and without a structural schema, by which values are correlated.
type ratchet struct {
	correlated *common.CorrelatedObject
	structural *structuralschema.Structural
}

func newRatchet(structural *structuralschema.Structural, obj, old *unstructured.Unstructured) *ratchet {
	if structural == nil || !utilfeature.DefaultFeatureGate.Enabled(apiextensionsfeatures.CRDValidationRatcheting) {
		return nil
	}
	return &ratchet{correlated: common.NewCorrelatedObject(obj.Object, old.Object, newCorrelatingSchema(structural)), structural: structural}
}

// of returns the ratchet of an excerpt of the object, which is the ratchet itself if the excerpt is the whole.
func (r *ratchet) of(value any, old map[string]any) *ratchet {
	if r == nil || same(value, r.correlated.Value) {
		return r
	}
	return &ratchet{correlated: common.NewCorrelatedObject(value, old, newCorrelatingSchema(r.structural)), structural: r.structural}
}

// same says that both are one map or list, or none of that.
func same(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if x.Kind() != y.Kind() || x.Kind() != reflect.Map && x.Kind() != reflect.Slice {
		return x.Kind() == y.Kind()
	}
	return x.Pointer() == y.Pointer()
}

func (r *ratchet) schemaOptions() []apiservervalidation.ValidationOption {
	if r == nil {
		return nil
	}
	return []apiservervalidation.ValidationOption{apiservervalidation.WithRatcheting(r.correlated)}
}

func (r *ratchet) statusOptions() []apiservervalidation.ValidationOption {
	if r == nil {
		return nil
	}
	return []apiservervalidation.ValidationOption{apiservervalidation.WithRatcheting(r.correlated.Key("status"))}
}

// observe feeds the metric of the time that correlating took.
func (r *ratchet) observe() {
	if r != nil {
		apiservervalidation.Metrics.ObserveRatchetingTime(*r.correlated.Duration)
	}
}

// correlatingSchema is the schema of one correlation. The library's own makes all properties of an object anew whenever
// one of them is looked at; this one remembers them.
type correlatingSchema struct {
	model.Structural
	properties map[string]common.Schema
}

func newCorrelatingSchema(s *structuralschema.Structural) *correlatingSchema {
	return &correlatingSchema{Structural: model.Structural{Structural: s}}
}

func (s *correlatingSchema) Properties() map[string]common.Schema {
	declared := s.Structural.Structural.Properties
	if s.properties == nil && declared != nil {
		s.properties = make(map[string]common.Schema, len(declared))
		for name := range declared {
			property := declared[name]
			s.properties[name] = newCorrelatingSchema(&property)
		}
	}
	return s.properties
}

func (s *correlatingSchema) Items() common.Schema {
	if s.Structural.Structural.Items == nil {
		return nil
	}
	return newCorrelatingSchema(s.Structural.Structural.Items)
}
