package podspec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// checkGates checks the conditions that a pod waits for, and what keeps it from being scheduled.
func checkGates(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	names := sets.New[string]()
	return append(rules.Every(spec.ReadinessGates, path.Child("readinessGates"),
		func(gate corev1.PodReadinessGate, path *field.Path) field.ErrorList {
			return rules.QualifiedName(gate.ConditionType, path.Child("conditionType"))
		}),
		rules.Every(spec.SchedulingGates, path.Child("schedulingGates"),
			func(gate corev1.PodSchedulingGate, path *field.Path) field.ErrorList {
				return append(rules.QualifiedName(gate.Name, path), checkNew(names, gate.Name, path)...)
			})...)
}

func checkToleration(toleration *corev1.Toleration, path *field.Path) (errs field.ErrorList) {
	operator, effect := path.Child("operator"), path.Child("effect")
	if toleration.Key != "" {
		errs = metav1validation.ValidateLabelName(toleration.Key, path.Child("key"))
	} else if toleration.Operator != corev1.TolerationOpExists {
		errs = append(errs, field.Invalid(operator, toleration.Operator,
			"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
	}
	errs = append(errs, rules.When(toleration.TolerationSeconds != nil && toleration.Effect != corev1.TaintEffectNoExecute,
		field.Invalid(effect, toleration.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))...)
	switch messages := validation.IsValidLabelValue(toleration.Value); toleration.Operator {
	case corev1.TolerationOpEqual, "":
		errs = append(errs, rules.Invalid(len(messages) > 0, operator, toleration.Value, strings.Join(messages, ";"))...)
	case corev1.TolerationOpExists:
		errs = append(errs, rules.Invalid(toleration.Value != "", operator, toleration.Value,
			"value must be empty when `operator` is 'Exists'")...)
	default:
		errs = append(errs, field.NotSupported(operator, toleration.Operator,
			[]corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}))
	}
	return append(errs, rules.Known(cmp.Or(toleration.Effect, corev1.TaintEffectNoSchedule), effect,
		corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
}

func checkAffinity(affinity *corev1.Affinity, path *field.Path) field.ErrorList {
	a := ptr.Deref(affinity, corev1.Affinity{})
	near, apart := ptr.Deref(a.PodAffinity, corev1.PodAffinity{}), ptr.Deref(a.PodAntiAffinity, corev1.PodAntiAffinity{})
	return slices.Concat(
		rules.Optional(a.NodeAffinity, path.Child("nodeAffinity"), checkNodeAffinity),
		checkTerms(near.RequiredDuringSchedulingIgnoredDuringExecution,
			near.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAffinity")),
		checkTerms(apart.RequiredDuringSchedulingIgnoredDuringExecution,
			apart.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAntiAffinity")),
	)
}

const (
	required  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferred = "preferredDuringSchedulingIgnoredDuringExecution"
)

func checkNodeAffinity(affinity corev1.NodeAffinity, path *field.Path) (errs field.ErrorList) {
	if selector := affinity.RequiredDuringSchedulingIgnoredDuringExecution; selector != nil {
		errs = CheckNodeSelector(selector, path.Child(required))
	}
	return append(errs, rules.Each(affinity.PreferredDuringSchedulingIgnoredDuringExecution, path.Child(preferred),
		func(term *corev1.PreferredSchedulingTerm, path *field.Path) field.ErrorList {
			return append(checkWeight(term.Weight, path), checkNodeTerm(&term.Preference, false, path.Child("preference"))...)
		})...)
}

func checkRequiredTerm(term *corev1.NodeSelectorTerm, path *field.Path) field.ErrorList {
	return checkNodeTerm(term, true, path)
}

// CheckNodeSelector returns the errors of the nodes that a Pod or a volume can be on.
func CheckNodeSelector(selector *corev1.NodeSelector, path *field.Path) field.ErrorList {
	terms := path.Child("nodeSelectorTerms")
	return append(rules.Missing(len(selector.NodeSelectorTerms) == 0, terms, "must have at least one node selector term"),
		rules.Each(selector.NodeSelectorTerms, terms, checkRequiredTerm)...)
}

func checkWeight(weight int32, path *field.Path) field.ErrorList {
	return rules.Invalid(weight < 1 || weight > 100, path.Child("weight"), weight, "must be in the range 1-100")
}

// checkNodeTerm checks what a node must be. values says that the values must be those of labels.
func checkNodeTerm(term *corev1.NodeSelectorTerm, values bool, path *field.Path) field.ErrorList {
	return append(rules.Each(term.MatchExpressions, path.Child("matchExpressions"),
		func(r *corev1.NodeSelectorRequirement, path *field.Path) field.ErrorList {
			return checkNodeRequirement(r, values, path)
		}),
		rules.Each(term.MatchFields, path.Child("matchFields"), checkFieldRequirement)...)
}

// checkNodeRequirement returns the errors of a requirement on the labels of a node. values says whether its values must
// be valid values of labels.
func checkNodeRequirement(r *corev1.NodeSelectorRequirement, values bool, path *field.Path) (errs field.ErrorList) {
	switch list := path.Child("values"); r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		errs = rules.Missing(len(r.Values) == 0, list, "must be specified when `operator` is 'In' or 'NotIn'")
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		errs = rules.Forbidden(len(r.Values) > 0, list, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		errs = rules.Missing(len(r.Values) != 1, list, "must be specified single value when `operator` is 'Lt' or 'Gt'")
	default:
		errs = field.ErrorList{field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator")}
	}
	errs = append(errs, metav1validation.ValidateLabelName(r.Key, path.Child("key"))...)
	if !values {
		return errs
	}
	return append(errs, rules.Every(r.Values, path.Child("values"), rules.LabelValue)...)
}

func checkFieldRequirement(r *corev1.NodeSelectorRequirement, path *field.Path) (errs field.ErrorList) {
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		errs = rules.Missing(len(r.Values) != 1, path.Child("values"),
			"must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
	default:
		errs = field.ErrorList{field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator")}
	}
	if r.Key != "metadata.name" {
		return append(errs, field.Invalid(path.Child("key"), r.Key, "not a valid field selector key"))
	}
	return append(errs, rules.Every(r.Values, path.Child("values"), rules.Subdomain)...)
}

func checkTerms(
	must []corev1.PodAffinityTerm, should []corev1.WeightedPodAffinityTerm, path *field.Path,
) field.ErrorList {
	return append(rules.Each(must, path.Child(required), checkTerm), rules.Each(should, path.Child(preferred),
		func(term *corev1.WeightedPodAffinityTerm, path *field.Path) field.ErrorList {
			return append(checkWeight(term.Weight, path), checkTerm(&term.PodAffinityTerm, path.Child("podAffinityTerm"))...)
		})...)
}

func checkTerm(term *corev1.PodAffinityTerm, path *field.Path) field.ErrorList {
	selects, matching := term.LabelSelector != nil, path.Child("matchLabelKeys")
	errs := append(checkSelector(term.LabelSelector, path.Child("labelSelector")),
		checkSelector(term.NamespaceSelector, path.Child("namespaceSelector"))...)
	for _, name := range term.Namespaces {
		errs = append(errs, rules.Label(name, path.Child("namespace"))...)
	}
	return slices.Concat(errs,
		checkLabelKeys(term.MatchLabelKeys, selects, matching),
		checkLabelKeys(term.MismatchLabelKeys, selects, path.Child("mismatchLabelKeys")),
		rules.Every(term.MatchLabelKeys, matching, func(key string, path *field.Path) field.ErrorList {
			return rules.Invalid(slices.Contains(term.MismatchLabelKeys, key), path, key,
				"exists in both matchLabelKeys and mismatchLabelKeys")
		}),
		checkTopologyKey(term.TopologyKey, path),
		metav1validation.ValidateLabelName(term.TopologyKey, path.Child("topologyKey")),
	)
}

func checkSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}

func checkTopologyKey(key string, path *field.Path) field.ErrorList {
	return rules.Missing(key == "", path.Child("topologyKey"), "can not be empty")
}

func checkLabelKeys(keys []string, selects bool, path *field.Path) field.ErrorList {
	if len(keys) > 0 && !selects {
		return field.ErrorList{field.Forbidden(path, "must not be specified when labelSelector is not set")}
	}
	return rules.Every(keys, path, metav1validation.ValidateLabelName)
}

func checkSpread(constraints []corev1.TopologySpreadConstraint, path *field.Path) (errs field.ErrorList) {
	for n := range constraints {
		c, item, domains := &constraints[n], path.Index(n), path.Index(n).Child("minDomains")
		repeated := slices.ContainsFunc(constraints[n+1:], func(other corev1.TopologySpreadConstraint) bool {
			return other.TopologyKey == c.TopologyKey && other.WhenUnsatisfiable == c.WhenUnsatisfiable
		})
		errs = append(errs, slices.Concat(
			checkPositive(c.MaxSkew, item.Child("maxSkew")),
			checkTopologyKey(c.TopologyKey, item),
			rules.Known(c.WhenUnsatisfiable, item.Child("whenUnsatisfiable"), corev1.DoNotSchedule, corev1.ScheduleAnyway),
			rules.When(repeated, field.Duplicate(item.Child("{topologyKey, whenUnsatisfiable}"),
				fmt.Sprintf("{%v, %v}", c.TopologyKey, c.WhenUnsatisfiable))),
			rules.Optional(c.MinDomains, domains, checkPositive),
			rules.Invalid(c.MinDomains != nil && c.WhenUnsatisfiable != corev1.DoNotSchedule, domains, c.MinDomains,
				fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule, c.WhenUnsatisfiable)),
			checkLabelKeys(c.MatchLabelKeys, c.LabelSelector != nil, item.Child("matchLabelKeys")),
			checkSelector(c.LabelSelector, item.Child("labelSelector")),
		)...)
	}
	return errs
}

func checkPositive(number int32, path *field.Path) field.ErrorList {
	return rules.Invalid(number <= 0, path, int64(number), "must be greater than zero")
}
