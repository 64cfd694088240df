package validation

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apiextensionsfeatures "k8s.io/apiextensions-apiserver/pkg/features"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/cel/common"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// ratchet correlates a changed object with the old one, so that errors of unchanged values can be dropped (T9). It is
// nil if the feature is disabled, or without the structural schema that correlating needs.
type ratchet struct {
	correlated *common.CorrelatedObject
}

func newRatchet(structural *structuralschema.Structural, obj, old *unstructured.Unstructured) *ratchet {
	if structural == nil || !utilfeature.DefaultFeatureGate.Enabled(apiextensionsfeatures.CRDValidationRatcheting) {
		return nil
	}
	return &ratchet{correlated: common.NewCorrelatedObject(obj.Object, old.Object, newCorrelatingSchema(structural))}
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

// observe records the time that correlating took.
func (r *ratchet) observe() {
	if r != nil {
		apiservervalidation.Metrics.ObserveRatchetingTime(*r.correlated.Duration)
	}
}

// correlatingSchema is the schema of one correlation. The library's own converts all properties of an object whenever
// one of them is read; this one does so once. See docs/upstream.md, "Schemas of CEL convert all properties on every
// read".
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
