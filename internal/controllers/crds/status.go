package crds

import (
	"slices"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"
)

type (
	condition     = apiextensionsv1.CustomResourceDefinitionCondition
	conditionType = apiextensionsv1.CustomResourceDefinitionConditionType
)

func isTrue(kind conditionType, reason, message string) condition {
	return condition{Type: kind, Status: apiextensionsv1.ConditionTrue, Reason: reason, Message: message}
}

func isFalse(kind conditionType, reason, message string) condition {
	return condition{Type: kind, Status: apiextensionsv1.ConditionFalse, Reason: reason, Message: message}
}

// state is everything that the status of a CRD depends on.
type state struct {
	// crd has no schemas, whole has them.
	crd   *apiextensionsv1.CustomResourceDefinition
	whole *apiextensions.CustomResourceDefinition
	// others are the names that crd cannot have.
	others *claims
	// structural means that the schemas are known to be structural: the CRD endpoint refuses others on create.
	structural bool
}

// status returns the status that the CRD should have. It keeps everything that is not computed here.
func (s state) status(now time.Time) *apiextensionsv1.CustomResourceDefinitionStatus {
	status := s.crd.Status.DeepCopy()
	s.others.count(&status.AcceptedNames, 1)
	names, conflict := s.others.accept(&s.crd.Spec.Names, status.AcceptedNames)
	status.AcceptedNames = names

	accepted := namesAccepted(conflict)
	setCondition(status, accepted, now)
	setCondition(status, established(s.crd, accepted.Status), now)
	if violations := s.violations(); violations != nil {
		setCondition(status, *violations, now)
	} else {
		status.Conditions = slices.DeleteFunc(status.Conditions, func(c condition) bool {
			return c.Type == apiextensionsv1.NonStructuralSchema
		})
	}
	if approval := approved(s.whole); approval != nil {
		setCondition(status, *approval, now)
	}
	return status
}

// violations returns the condition NonStructuralSchema, or nil if all schemas are structural.
func (s state) violations() *condition {
	if s.structural {
		return nil
	}
	return nonStructural(s.whole)
}

func namesAccepted(conflict *conflict) condition {
	if conflict != nil {
		return isFalse(apiextensionsv1.NamesAccepted, conflict.reason, conflict.message)
	}
	return isTrue(apiextensionsv1.NamesAccepted, "NoConflicts", "no conflicts found")
}

// established returns the condition Established. It becomes true when the names are accepted, and then stays true.
func established(
	crd *apiextensionsv1.CustomResourceDefinition, namesAccepted apiextensionsv1.ConditionStatus,
) condition {
	old := apihelpers.FindCRDCondition(crd, apiextensionsv1.Established)
	accepted := namesAccepted == apiextensionsv1.ConditionTrue
	switch {
	case old != nil && (old.Status == apiextensionsv1.ConditionTrue || !accepted):
		return *old
	case !accepted:
		return isFalse(apiextensionsv1.Established, "NotAccepted", "not all names are accepted")
	case !validCABundle(crd.Spec.Conversion):
		return isFalse(apiextensionsv1.Established, "InvalidCABundle", "The conversion webhook CABundle is invalid")
	}
	return isTrue(apiextensionsv1.Established, "InitialNamesAccepted", "the initial names have been accepted")
}

func validCABundle(conversion *apiextensionsv1.CustomResourceConversion) bool {
	if conversion == nil || conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil {
		return true
	}
	return len(webhook.ValidateCABundle(field.NewPath(""), conversion.Webhook.ClientConfig.CABundle)) == 0
}

// setCondition adds or replaces a condition. lastTransitionTime changes only together with the status.
func setCondition(status *apiextensionsv1.CustomResourceDefinitionStatus, c condition, now time.Time) {
	for n := range status.Conditions {
		old := &status.Conditions[n]
		if old.Type != c.Type {
			continue
		}
		if old.Status != c.Status || old.LastTransitionTime.IsZero() {
			old.LastTransitionTime = metav1.NewTime(now)
		}
		old.Status, old.Reason, old.Message = c.Status, c.Reason, c.Message
		return
	}
	c.LastTransitionTime = metav1.NewTime(now)
	status.Conditions = append(status.Conditions, c)
}
