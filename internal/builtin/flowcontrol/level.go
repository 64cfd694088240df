package flowcontrol

import (
	"cmp"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// The defaults of a priority level.
const (
	defaultShares      = 30
	defaultHandSize    = 8
	defaultQueues      = 64
	defaultQueueLength = 50
)

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

var levelRules = resource.Typed[*flowcontrolv1.PriorityLevelConfiguration]{
	Prepare: func(l *flowcontrolv1.PriorityLevelConfiguration) {
		l.Status, l.Generation = flowcontrolv1.PriorityLevelConfigurationStatus{}, 1
	},
	Check: checkLevel,
	PrepareUpdate: func(l, old *flowcontrolv1.PriorityLevelConfiguration) {
		l.Status = old.Status
		if !equality.Semantic.DeepEqual(l.Spec, old.Spec) {
			l.Generation = old.Generation + 1
		}
	},
	CheckUpdate: func(l, _ *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList { return checkLevel(l) },
}

func checkLevel(l *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	return resource.CheckClusterMetadata(&l.ObjectMeta, apivalidation.NameIsDNSSubdomain)
}

var levelStatusRules = resource.Typed[*flowcontrolv1.PriorityLevelConfiguration]{
	PrepareUpdate: func(l, old *flowcontrolv1.PriorityLevelConfiguration) {
		metav1.ResetObjectMetaForStatus(&l.ObjectMeta, &old.ObjectMeta)
		l.Spec = old.Spec
	},
}
