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
	return &ratchet{correlated: common.NewCorrelatedObject(obj.Object, old.Object, &model.Structural{Structural: structural})}
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
