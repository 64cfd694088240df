package flowcontrol

import (
	"cmp"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// The rules of both kinds: only their metadata is checked.
var (
	schemaRules = resource.Plain[*flowcontrolv1.FlowSchema]{Counts: true}
	levelRules  = resource.Plain[*flowcontrolv1.PriorityLevelConfiguration]{Counts: true}
)

// The defaults of a schema and of a priority level.
const (
	defaultPrecedence  = 1000
	defaultShares      = 30
	defaultHandSize    = 8
	defaultQueues      = 64
	defaultQueueLength = 50
)

func defaultSchema(obj runtime.Object) {
	spec := &obj.(*flowcontrolv1.FlowSchema).Spec
	spec.MatchingPrecedence = cmp.Or(spec.MatchingPrecedence, defaultPrecedence)
}

func defaultLevel(obj runtime.Object) {
	spec := &obj.(*flowcontrolv1.PriorityLevelConfiguration).Spec
	if exempt := spec.Exempt; exempt != nil {
		resource.Default(&exempt.NominalConcurrencyShares, 0)
		resource.Default(&exempt.LendablePercent, 0)
	}
	limited := spec.Limited
	if limited == nil {
		return
	}
	resource.Default(&limited.NominalConcurrencyShares, defaultShares)
	resource.Default(&limited.LendablePercent, 0)
	if queuing := limited.LimitResponse.Queuing; queuing != nil {
		queuing.HandSize = cmp.Or(queuing.HandSize, defaultHandSize)
		queuing.Queues = cmp.Or(queuing.Queues, defaultQueues)
		queuing.QueueLengthLimit = cmp.Or(queuing.QueueLengthLimit, defaultQueueLength)
	}
}

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
