package flowcontrol

import (
	"fmt"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/util/shufflesharding"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// The defaults of a priority level.
const (
	defaultShares      = 30
	defaultHandSize    = 8
	defaultQueues      = 64
	defaultQueueLength = 50
)

// maxQueues is the number of queues that a level may have.
const maxQueues = 10 * 1000 * 1000

func defaultLevel(obj runtime.Object) {
	spec := &obj.(*flowcontrolv1.PriorityLevelConfiguration).Spec
	if exempt := spec.Exempt; exempt != nil {
		setDefault(&exempt.NominalConcurrencyShares, 0)
		setDefault(&exempt.LendablePercent, 0)
	}
	limited := spec.Limited
	if limited == nil {
		return
	}
	setDefault(&limited.NominalConcurrencyShares, defaultShares)
	setDefault(&limited.LendablePercent, 0)
	if queuing := limited.LimitResponse.Queuing; queuing != nil {
		queuing.HandSize = orDefault(queuing.HandSize, defaultHandSize)
		queuing.Queues = orDefault(queuing.Queues, defaultQueues)
		queuing.QueueLengthLimit = orDefault(queuing.QueueLengthLimit, defaultQueueLength)
	}
}

func setDefault(to **int32, value int32) {
	if *to == nil {
		*to = &value
	}
}

func orDefault(value, instead int32) int32 {
	if value == 0 {
		return instead
	}
	return value
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

var levelStatusRules = resource.Typed[*flowcontrolv1.PriorityLevelConfiguration]{
	PrepareUpdate: func(l, old *flowcontrolv1.PriorityLevelConfiguration) {
		keepMetadata(&l.ObjectMeta, &old.ObjectMeta)
		l.Spec = old.Spec
	},
	CheckUpdate: func(l, _ *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
		var types []string
		for n := range l.Status.Conditions {
			types = append(types, string(l.Status.Conditions[n].Type))
		}
		return checkConditionTypes(types)
	},
}

// checkLevel checks a priority level. Of those that kube-apiserver needs, only the shares of the exempt one can be
// changed.
func checkLevel(l *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	errs := resource.CheckClusterMetadata(&l.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	spec, kind := &l.Spec, specPath.Child("type")
	isExempt := spec.Type == flowcontrolv1.PriorityLevelEnablementExempt
	if isExempt != (l.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt) {
		const text = "must be 'Exempt' if and only if `name` is 'exempt'"
		errs = append(errs, field.Invalid(kind, spec.Type, text))
	}
	switch spec.Type {
	case flowcontrolv1.PriorityLevelEnablementExempt:
		errs = append(errs, checkShares(spec.Exempt, specPath.Child("exempt"))...)
	case flowcontrolv1.PriorityLevelEnablementLimited:
		errs = append(errs, checkLimited(spec.Limited, specPath.Child("limited"))...)
	case "": // see checkMembers
	default:
		errs = append(errs, field.NotSupported(kind, spec.Type, []flowcontrolv1.PriorityLevelEnablement{
			flowcontrolv1.PriorityLevelEnablementExempt, flowcontrolv1.PriorityLevelEnablementLimited,
		}))
	}
	errs = append(errs, checkFixed(l)...)
	return append(errs, checkMembers(spec)...)
}

// checkMembers checks that a level has the members of its type, and no others. In kube-apiserver these are declarative
// rules, whose errors come last.
func checkMembers(spec *flowcontrolv1.PriorityLevelConfigurationSpec) (errs field.ErrorList) {
	isLimited := spec.Type == flowcontrolv1.PriorityLevelEnablementLimited
	limited := specPath.Child("limited")
	if spec.Exempt != nil && isLimited {
		errs = append(errs, field.Forbidden(specPath.Child("exempt"), ""))
	}
	switch {
	case spec.Limited == nil && isLimited:
		errs = append(errs, field.Required(limited, ""))
	case spec.Limited != nil && spec.Type == flowcontrolv1.PriorityLevelEnablementExempt:
		errs = append(errs, field.Forbidden(limited, ""))
	}
	if spec.Type == "" {
		errs = append(errs, field.Required(specPath.Child("type"), ""))
	}
	if spec.Limited == nil {
		return errs
	}
	response, path := &spec.Limited.LimitResponse, limited.Child("limitResponse")
	queues := response.Type == flowcontrolv1.LimitResponseTypeQueue
	switch {
	case response.Queuing == nil && queues:
		errs = append(errs, field.Required(path.Child("queuing"), ""))
	case response.Queuing != nil && !queues:
		errs = append(errs, field.Forbidden(path.Child("queuing"), ""))
	}
	if response.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), ""))
	}
	return errs
}

// checkFixed compares a level with that of the same name which kube-apiserver needs.
func checkFixed(l *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	for _, fixed := range bootstrap.MandatoryPriorityLevelConfigurations {
		if fixed.Name != l.Name {
			continue
		}
		have, text := *l.Spec.DeepCopy(), "spec of '%s' must equal the fixed value"
		if l.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt {
			have.Exempt = fixed.Spec.Exempt
			text = "spec of '%s' except the 'spec.exempt' field must equal the fixed value"
		}
		if !equality.Semantic.DeepEqual(have, fixed.Spec) {
			return field.ErrorList{field.Invalid(specPath, l.Spec, fmt.Sprintf(text, l.Name))}
		}
	}
	return nil
}

func checkShares(exempt *flowcontrolv1.ExemptPriorityLevelConfiguration, path *field.Path) field.ErrorList {
	if exempt == nil {
		return nil
	}
	errs := checkNotNegative(exempt.NominalConcurrencyShares, path.Child("nominalConcurrencyShares"), "must be")
	return append(errs, checkPercent(exempt.LendablePercent, path.Child("lendablePercent"))...)
}

func checkNotNegative(value *int32, path *field.Path, must string) field.ErrorList {
	if ptr.Deref(value, 0) >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *value, must+" a non-negative integer")}
}

func checkPercent(value *int32, path *field.Path) field.ErrorList {
	if percent := ptr.Deref(value, 0); percent >= 0 && percent <= 100 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *value, "must be between 0 and 100, inclusive")}
}

func checkLimited(limited *flowcontrolv1.LimitedPriorityLevelConfiguration, path *field.Path) field.ErrorList {
	if limited == nil {
		return nil
	}
	errs := checkNotNegative(limited.NominalConcurrencyShares, path.Child("nominalConcurrencyShares"), "must be")
	response := path.Child("limitResponse")
	switch r := &limited.LimitResponse; r.Type {
	case flowcontrolv1.LimitResponseTypeReject, "":
	case flowcontrolv1.LimitResponseTypeQueue:
		if r.Queuing != nil {
			errs = append(errs, checkQueuing(r.Queuing, response.Child("queuing"))...)
		}
	default:
		errs = append(errs, field.NotSupported(response.Child("type"), r.Type, []flowcontrolv1.LimitResponseType{
			flowcontrolv1.LimitResponseTypeQueue, flowcontrolv1.LimitResponseTypeReject,
		}))
	}
	errs = append(errs, checkPercent(limited.LendablePercent, path.Child("lendablePercent"))...)
	borrowing := path.Child("borrowingLimitPercent")
	return append(errs, checkNotNegative(limited.BorrowingLimitPercent, borrowing, "if specified, must be")...)
}

func checkQueuing(q *flowcontrolv1.QueuingConfiguration, path *field.Path) (errs field.ErrorList) {
	if q.QueueLengthLimit <= 0 {
		errs = append(errs, field.Invalid(path.Child("queueLengthLimit"), q.QueueLengthLimit, "must be positive"))
	}
	switch queues := path.Child("queues"); {
	case q.Queues <= 0:
		errs = append(errs, field.Invalid(queues, q.Queues, "must be positive"))
	case q.Queues > maxQueues:
		errs = append(errs, field.Invalid(queues, q.Queues, fmt.Sprintf("must not be greater than %d", maxQueues)))
	}
	hand := path.Child("handSize")
	switch {
	case q.HandSize <= 0:
		return append(errs, field.Invalid(hand, q.HandSize, "must be positive"))
	case q.HandSize > q.Queues:
		text := fmt.Sprintf("should not be greater than queues (%d)", q.Queues)
		return append(errs, field.Invalid(hand, q.HandSize, text))
	}
	if bits := shufflesharding.RequiredEntropyBits(int(q.Queues), int(q.HandSize)); bits > shufflesharding.MaxHashBits {
		text := fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d",
			q.Queues, q.HandSize, shufflesharding.MaxHashBits)
		errs = append(errs, field.Invalid(hand, q.HandSize, text))
	}
	return errs
}
