package crds

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/crds"
)

var (
	before = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now    = before.Add(time.Hour)
)

func cond(kind apiextensionsv1.CustomResourceDefinitionConditionType, status apiextensionsv1.ConditionStatus, reason,
	message string, at time.Time) condition {
	return condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(at)}
}

const (
	yes     = apiextensionsv1.ConditionTrue
	no      = apiextensionsv1.ConditionFalse
	unknown = apiextensionsv1.ConditionUnknown
)

func accepted(at time.Time) condition {
	return cond(apiextensionsv1.NamesAccepted, yes, "NoConflicts", "no conflicts found", at)
}

func isEstablished(at time.Time) condition {
	return cond(apiextensionsv1.Established, yes, "InitialNamesAccepted", "the initial names have been accepted", at)
}

func notEstablished(at time.Time) condition {
	return cond(apiextensionsv1.Established, no, "NotAccepted", "not all names are accepted", at)
}

func badBundle(at time.Time) condition {
	return cond(apiextensionsv1.Established, no, "InvalidCABundle", "The conversion webhook CABundle is invalid", at)
}

func pluralConflict(at time.Time) condition {
	return cond(apiextensionsv1.NamesAccepted, no, "PluralConflict", `"alfa" is already in use`, at)
}

// definition returns the CRD alfa.bravo.com with the changes.
func definition(change ...func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "alfa.bravo.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "bravo.com",
			Names: named("alfa", "alf", "Alfa", "AlfaList"),
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"},
				},
			}},
		},
	}
	for _, f := range change {
		f(crd)
	}
	return crd
}

func having(conditions ...condition) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Status.Conditions = conditions }
}

func holding(names nameSet) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Status.AcceptedNames = names }
}

func bundle(ca string) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte(
				ca)}},
		}
	}
}

func inGroup(group, approval string) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Group = group
		crd.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: approval}
	}
}

func schemaOf(props apiextensionsv1.JSONSchemaProps) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema = &props
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	all := named("alfa", "alf", "Alfa", "AlfaList")
	taken := named("alfa", "", "", "")
	migrating := cond(apiextensionsv1.StorageMigrating, yes, "Client", "mine", before)
	for name, tc := range map[string]struct {
		crd   *apiextensionsv1.CustomResourceDefinition
		other nameSet
		want  []condition
	}{
		"new":      {crd: definition(), want: []condition{accepted(now), isEstablished(now)}},
		"conflict": {crd: definition(), other: taken, want: []condition{pluralConflict(now), notEstablished(now)}},
		"conflict over": {
			crd:  definition(having(pluralConflict(before), notEstablished(before))),
			want: []condition{accepted(now), isEstablished(now)},
		},
		"conflict goes on": {
			crd:   definition(having(pluralConflict(before), notEstablished(before))),
			other: taken, want: []condition{pluralConflict(before), notEstablished(before)},
		},
		"once established, always": {
			crd:   definition(having(accepted(before), isEstablished(before))),
			other: taken, want: []condition{pluralConflict(now), isEstablished(before)},
		},
		"nothing to do, and nothing of others touched": {
			crd:  definition(holding(all), having(migrating, isEstablished(before), accepted(before))),
			want: []condition{migrating, isEstablished(before), accepted(before)},
		},
		"conditions taken away by a client come back": {
			crd: definition(holding(all)), want: []condition{accepted(now), isEstablished(now)},
		},
		"invalid CA bundle": {crd: definition(bundle("x")), want: []condition{accepted(now), badBundle(now)}},
		"invalid CA bundle goes on": {
			crd:  definition(holding(all), bundle("x"), having(accepted(before), badBundle(before))),
			want: []condition{accepted(before), badBundle(before)},
		},
		"invalid CA bundle repaired": {
			crd:  definition(holding(all), bundle(""), having(accepted(before), badBundle(before))),
			want: []condition{accepted(before), isEstablished(now)},
		},
		"CA bundle broken later": {
			crd:  definition(holding(all), bundle("x"), having(accepted(before), isEstablished(before))),
			want: []condition{accepted(before), isEstablished(before)},
		},
		"approved": {
			crd: definition(inGroup("x.k8s.io", "https://github.com/kubernetes/kubernetes/pull/1")),
			want: []condition{accepted(now), isEstablished(now), cond(apiextensionsv1.KubernetesAPIApprovalPolicyConformant, yes,
				"ApprovedAnnotation", "approved in https://github.com/kubernetes/kubernetes/pull/1", now)},
		},
		"unapproved": {
			crd: definition(inGroup("kubernetes.io", "unapproved, experimental")),
			want: []condition{accepted(now), isEstablished(now), cond(apiextensionsv1.KubernetesAPIApprovalPolicyConformant, no,
				"UnapprovedAnnotation", `not approved: "unapproved, experimental"`, now)},
		},
		"approval missing": {
			crd: definition(inGroup("k8s.io", "")),
			want: []condition{accepted(now), isEstablished(now),
				cond(apiextensionsv1.KubernetesAPIApprovalPolicyConformant, no, "MissingAnnotation",
					`protected groups must have approval annotation "api-approved.kubernetes.io", see `+
						`https://github.com/kubernetes/enhancements/pull/1111`,
					now)},
		},
		"approval invalid": {
			crd: definition(inGroup("k8s.io", "yes")),
			want: []condition{accepted(now), isEstablished(now),
				cond(apiextensionsv1.KubernetesAPIApprovalPolicyConformant, no, "InvalidAnnotation",
					`protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason `+
						`starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111`,
					now)},
		},
		"no community group": {crd: definition(inGroup("notk8s.io", "")),
			want: []condition{accepted(now), isEstablished(now)}},
		"preserveUnknownFields": {
			crd: definition(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.PreserveUnknownFields = true }),
			want: []condition{accepted(now), isEstablished(now), cond(apiextensionsv1.NonStructuralSchema, yes, "Violations",
				"spec.preserveUnknownFields: Invalid value: true: must be false", now)},
		},
		"not structural": {
			crd: definition(schemaOf(apiextensionsv1.JSONSchemaProps{Type: "object",
				Properties: map[string]apiextensionsv1.JSONSchemaProps{"b": {}, "a": {}}})),
			want: []condition{accepted(now), isEstablished(now), cond(apiextensionsv1.NonStructuralSchema, yes, "Violations",
				"[spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified "+
					"object fields, "+
					"spec.versions[0].schema.openAPIV3Schema.properties[b].type: Required value: must not be empty for specified "+
					"object fields]",
				now)},
		},
		"no schema to check": {
			crd: definition(schemaOf(apiextensionsv1.JSONSchemaProps{Type: "object",
				Definitions: apiextensionsv1.JSONSchemaDefinitions{"a": {}}})),
			want: []condition{accepted(now), isEstablished(now),
				cond(apiextensionsv1.NonStructuralSchema, unknown, "StructuralError",
					"failed to check validation schema for version v1: OpenAPIV3Schema 'definitions' is not supported", now)},
		},
		"structural again": {
			crd: definition(holding(all),
				having(cond(apiextensionsv1.NonStructuralSchema, yes, "Violations", "x", before), accepted(before),
					isEstablished(before))),
			want: []condition{accepted(before), isEstablished(before)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			untouched := tc.crd.DeepCopy()
			whole, err := crds.FromV1(tc.crd)
			if err != nil {
				t.Fatal(err)
			}
			others := newClaims()
			others.count(&tc.other, 1)
			status := state{crd: tc.crd, whole: whole, others: others}.status(now)
			if diff := cmp.Diff(tc.want, status.Conditions); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(untouched, tc.crd); diff != "" {
				t.Errorf("the CRD was changed: %s", diff)
			}
			tc.crd.Status = *status
			others = newClaims()
			others.count(&tc.other, 1)
			if diff := cmp.Diff(status, state{crd: tc.crd, whole: whole,
				others: others}.status(now.Add(time.Hour))); diff != "" {
				t.Errorf("a second reconcile changes the status: %s", diff)
			}
		})
	}
}
