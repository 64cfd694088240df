package flowcontrol

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
	"k8s.io/apimachinery/pkg/runtime"
)

// upgradeLevel completes a PriorityLevelConfiguration of a beta version. In beta versions zero shares are the default,
// unless an annotation of v1beta3 says otherwise. The first two have another name for shares.
func upgradeLevel(old, obj runtime.Object) error {
	level := obj.(*flowcontrolv1.PriorityLevelConfiguration)
	_, zero := level.Annotations[flowcontrolv1beta3.PriorityLevelPreserveZeroConcurrencySharesKey]
	limited := level.Spec.Limited
	if limited == nil {
		return nil
	}
	switch old := old.(type) {
	case *flowcontrolv1beta1.PriorityLevelConfiguration:
		limited.NominalConcurrencyShares = &old.Spec.Limited.AssuredConcurrencyShares
	case *flowcontrolv1beta2.PriorityLevelConfiguration:
		limited.NominalConcurrencyShares = &old.Spec.Limited.AssuredConcurrencyShares
	case *flowcontrolv1beta3.PriorityLevelConfiguration:
		limited.NominalConcurrencyShares = &old.Spec.Limited.NominalConcurrencyShares
		delete(level.Annotations, flowcontrolv1beta3.PriorityLevelPreserveZeroConcurrencySharesKey)
		if zero {
			return nil
		}
	}
	if *limited.NominalConcurrencyShares == 0 {
		limited.NominalConcurrencyShares = nil // the default is set when the object is complete
	}
	return nil
}
