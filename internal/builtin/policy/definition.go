package policy

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the row of PodDisruptionBudgets.
func Definitions() []*resource.Definition {
	return []*resource.Definition{{
		GroupVersion: policyv1.SchemeGroupVersion, Kind: "PodDisruptionBudget", Plural: "poddisruptionbudgets",
		Singular: "poddisruptionbudget", ShortNames: []string{"pdb"}, Namespaced: true,
		Object: &policyv1.PodDisruptionBudget{}, List: &policyv1.PodDisruptionBudgetList{},
		Strategy: budgetStrategy, Resets: []string{"status"},
		Subresources: []resource.Subresource{{
			Name: "status", Verbs: resource.SubresourceVerbs, Strategy: budgetStatus, Resets: []string{"spec"},
		}},
		Columns: budgetColumns, Upgrade: upgrade,
	}}
}

var budgetColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{Name: "Min Available", Type: "string", Description: "The minimum number of pods that must be available."},
		{Name: "Max Unavailable", Type: "string", Description: "The maximum number of pods that may be unavailable."},
		{
			Name: "Allowed Disruptions", Type: "integer",
			Description: "Calculated number of pods that may be disrupted at this time.",
		},
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		b := obj.(*policyv1.PodDisruptionBudget)
		return []any{
			b.Name, limitCell(b.Spec.MinAvailable), limitCell(b.Spec.MaxUnavailable),
			int64(b.Status.DisruptionsAllowed), resource.Age(b),
		}
	},
}

func limitCell(limit *intstr.IntOrString) string {
	if limit == nil {
		return "N/A"
	}
	return limit.String()
}
