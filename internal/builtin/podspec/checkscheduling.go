package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// checkGates checks the conditions that a pod waits for, and what keeps it from being scheduled.
func checkGates(spec *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	for n, gate := range spec.ReadinessGates {
		errs = append(errs,
			rules.QualifiedName(gate.ConditionType, path.Child("readinessGates").Index(n).Child("conditionType"))...)
	}
	for n, gate := range spec.SchedulingGates {
		item := path.Child("schedulingGates").Index(n)
		errs = append(errs, slices.Concat(
			rules.QualifiedName(gate.Name, item),
			rules.When(slices.Contains(spec.SchedulingGates[:n], gate), field.Duplicate(item, gate.Name)),
		)...)
	}
	return errs
}

func checkToleration(toleration *corev1.Toleration, path *field.Path) (errs field.ErrorList) {
	operator, effect := path.Child("operator"), path.Child("effect")
	if toleration.Key != "" {
		errs = CheckLabelName(toleration.Key, path.Child("key"))
	} else if toleration.Operator != corev1.TolerationOpExists {
		errs = append(errs, field.Invalid(operator, toleration.Operator,
			"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
	}
	errs = append(errs, rules.When(toleration.TolerationSeconds != nil && toleration.Effect != corev1.TaintEffectNoExecute,
		field.Invalid(effect, toleration.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))...)
	switch messages := validation.IsValidLabelValue(toleration.Value); toleration.Operator {
	case corev1.TolerationOpEqual, "":
		errs = append(errs, rules.When(len(messages) > 0,
			field.Invalid(operator, toleration.Value, strings.Join(messages, ";")))...)
	case corev1.TolerationOpExists:
		errs = append(errs, rules.When(toleration.Value != "",
			field.Invalid(operator, toleration.Value, "value must be empty when `operator` is 'Exists'"))...)
	default:
		errs = append(errs, field.NotSupported(operator, toleration.Operator,
			[]corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}))
	}
	if toleration.Effect == "" {
		return errs
	}
	return append(errs, rules.Known(toleration.Effect, effect, corev1.TaintEffectNoSchedule,
		corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
}

func checkAffinity(affinity *corev1.Affinity, path *field.Path) (errs field.ErrorList) {
	if affinity == nil {
		return nil
	}
	if node := affinity.NodeAffinity; node != nil {
		errs = append(errs, checkNodeAffinity(node, path.Child("nodeAffinity"))...)
	}
	if pod := affinity.PodAffinity; pod != nil {
		errs = append(errs, checkTerms(pod.RequiredDuringSchedulingIgnoredDuringExecution,
			pod.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAffinity"))...)
	}
	if pod := affinity.PodAntiAffinity; pod != nil {
		errs = append(errs, checkTerms(pod.RequiredDuringSchedulingIgnoredDuringExecution,
			pod.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAntiAffinity"))...)
	}
	return errs
}

const (
	required  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferred = "preferredDuringSchedulingIgnoredDuringExecution"
)

func checkNodeAffinity(affinity *corev1.NodeAffinity, path *field.Path) (errs field.ErrorList) {
	if selector := affinity.RequiredDuringSchedulingIgnoredDuringExecution; selector != nil {
		terms := path.Child(required, "nodeSelectorTerms")
		errs = rules.When(len(selector.NodeSelectorTerms) == 0,
			field.Required(terms, "must have at least one node selector term"))
		for n := range selector.NodeSelectorTerms {
			errs = append(errs, checkNodeTerm(&selector.NodeSelectorTerms[n], true, terms.Index(n))...)
		}
	}
	for n := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		term, item := &affinity.PreferredDuringSchedulingIgnoredDuringExecution[n], path.Child(preferred).Index(n)
		errs = append(errs, slices.Concat(checkWeight(term.Weight, item),
			checkNodeTerm(&term.Preference, false, item.Child("preference")))...)
	}
	return errs
}

func checkWeight(weight int32, path *field.Path) field.ErrorList {
	return rules.When(weight < 1 || weight > 100,
		field.Invalid(path.Child("weight"), weight, "must be in the range 1-100"))
}

// checkNodeTerm checks what a node must be. values says that the values must be those of labels.
func checkNodeTerm(term *corev1.NodeSelectorTerm, values bool, path *field.Path) (errs field.ErrorList) {
	for n := range term.MatchExpressions {
		errs = append(errs,
			CheckNodeRequirement(&term.MatchExpressions[n], values, path.Child("matchExpressions").Index(n))...)
	}
	return append(errs, rules.Each(term.MatchFields, path.Child("matchFields"), checkFieldRequirement)...)
}

// CheckNodeRequirement returns the errors of a requirement on the labels of a node. values says whether its values must
// be valid values of labels.
func CheckNodeRequirement(r *corev1.NodeSelectorRequirement, values bool, path *field.Path) (errs field.ErrorList) {
	switch list := path.Child("values"); r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		errs = rules.When(len(r.Values) == 0,
			field.Required(list, "must be specified when `operator` is 'In' or 'NotIn'"))
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		errs = rules.When(len(r.Values) > 0,
			field.Forbidden(list, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		errs = rules.When(len(r.Values) != 1,
			field.Required(list, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
	default:
		errs = field.ErrorList{field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator")}
	}
	errs = append(errs, CheckLabelName(r.Key, path.Child("key"))...)
	for n, value := range r.Values {
		if values {
			errs = append(errs, rules.Messages(path.Child("values").Index(n), value, validation.IsValidLabelValue(value))...)
		}
	}
	return errs
}

func checkFieldRequirement(r *corev1.NodeSelectorRequirement, path *field.Path) (errs field.ErrorList) {
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		errs = rules.When(len(r.Values) != 1, field.Required(path.Child("values"),
			"must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
	default:
		errs = field.ErrorList{field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator")}
	}
	if r.Key != "metadata.name" {
		return append(errs, field.Invalid(path.Child("key"), r.Key, "not a valid field selector key"))
	}
	for n, value := range r.Values {
		errs = append(errs, rules.Subdomain(value, path.Child("values").Index(n))...)
	}
	return errs
}

func checkTerms(
	must []corev1.PodAffinityTerm, should []corev1.WeightedPodAffinityTerm, path *field.Path,
) field.ErrorList {
	errs := rules.Each(must, path.Child(required), checkTerm)
	for n := range should {
		item := path.Child(preferred).Index(n)
		errs = append(errs, slices.Concat(checkWeight(should[n].Weight, item),
			checkTerm(&should[n].PodAffinityTerm, item.Child("podAffinityTerm")))...)
	}
	return errs
}

func checkTerm(term *corev1.PodAffinityTerm, path *field.Path) field.ErrorList {
	options := metav1validation.LabelSelectorValidationOptions{}
	errs := append(metav1validation.ValidateLabelSelector(term.LabelSelector, options, path.Child("labelSelector")),
		metav1validation.ValidateLabelSelector(term.NamespaceSelector, options, path.Child("namespaceSelector"))...)
	for _, name := range term.Namespaces {
		errs = append(errs, rules.Label(name, path.Child("namespace"))...)
	}
	selects := term.LabelSelector != nil
	errs = append(errs, slices.Concat(checkLabelKeys(term.MatchLabelKeys, selects, path.Child("matchLabelKeys")),
		checkLabelKeys(term.MismatchLabelKeys, selects, path.Child("mismatchLabelKeys")))...)
	for n, key := range term.MatchLabelKeys {
		errs = append(errs, rules.When(slices.Contains(term.MismatchLabelKeys, key),
			field.Invalid(path.Child("matchLabelKeys").Index(n), key, "exists in both matchLabelKeys and mismatchLabelKeys"))...)
	}
	return slices.Concat(errs, checkTopologyKey(term.TopologyKey, path),
		CheckLabelName(term.TopologyKey, path.Child("topologyKey")))
}

func checkTopologyKey(key string, path *field.Path) field.ErrorList {
	return rules.When(key == "", field.Required(path.Child("topologyKey"), "can not be empty"))
}

func checkLabelKeys(keys []string, selects bool, path *field.Path) (errs field.ErrorList) {
	if len(keys) > 0 && !selects {
		return field.ErrorList{field.Forbidden(path, "must not be specified when labelSelector is not set")}
	}
	for n, key := range keys {
		errs = append(errs, CheckLabelName(key, path.Index(n))...)
	}
	return errs
}

func checkSpread(constraints []corev1.TopologySpreadConstraint, path *field.Path) (errs field.ErrorList) {
	for n := range constraints {
		constraint, item := &constraints[n], path.Index(n)
		repeated := slices.ContainsFunc(constraints[n+1:], func(other corev1.TopologySpreadConstraint) bool {
			return other.TopologyKey == constraint.TopologyKey && other.WhenUnsatisfiable == constraint.WhenUnsatisfiable
		})
		errs = append(errs, slices.Concat(
			checkPositive(constraint.MaxSkew, item.Child("maxSkew")),
			checkTopologyKey(constraint.TopologyKey, item),
			rules.Known(constraint.WhenUnsatisfiable, item.Child("whenUnsatisfiable"),
				corev1.DoNotSchedule, corev1.ScheduleAnyway),
			rules.When(repeated, field.Duplicate(item.Child("{topologyKey, whenUnsatisfiable}"),
				fmt.Sprintf("{%v, %v}", constraint.TopologyKey, constraint.WhenUnsatisfiable))),
		)...)
		if domains := constraint.MinDomains; domains != nil {
			errs = append(errs, slices.Concat(
				checkPositive(*domains, item.Child("minDomains")),
				rules.When(constraint.WhenUnsatisfiable != corev1.DoNotSchedule, field.Invalid(item.Child("minDomains"), domains,
					fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s",
						corev1.DoNotSchedule, constraint.WhenUnsatisfiable))),
			)...)
		}
		errs = append(errs, slices.Concat(
			checkLabelKeys(constraint.MatchLabelKeys, constraint.LabelSelector != nil, item.Child("matchLabelKeys")),
			metav1validation.ValidateLabelSelector(constraint.LabelSelector,
				metav1validation.LabelSelectorValidationOptions{}, item.Child("labelSelector")),
		)...)
	}
	return errs
}

func checkPositive(number int32, path *field.Path) field.ErrorList {
	return rules.When(number <= 0, field.Invalid(path, int64(number), "must be greater than zero"))
}
