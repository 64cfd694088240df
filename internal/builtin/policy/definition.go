package policy

import (
	policyv1 "k8s.io/api/policy/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the row of PodDisruptionBudgets.
func Definitions() []*resource.Definition {
	return []*resource.Definition{{
		Object: &policyv1.PodDisruptionBudget{}, ShortNames: []string{"pdb"}, Namespaced: true,
		Strategy:     budgetStrategy,
		Subresources: []resource.Subresource{{Name: "status", Strategy: budgetStatus}},
		Columns:      budgetColumns, Upgrade: upgrade,
	}}
}

var budgetColumns = resource.Columns[*policyv1.PodDisruptionBudget]{
	{Name: "Min Available", Field: "spec.minAvailable", Empty: "N/A",
		Doc: "The minimum number of pods that must be available."},
	{Name: "Max Unavailable", Field: "spec.maxUnavailable", Empty: "N/A",
		Doc: "The maximum number of pods that may be unavailable."},
	{Name: "Allowed Disruptions", Type: "integer", Field: "status.disruptionsAllowed",
		Doc: "Calculated number of pods that may be disrupted at this time."},
	{Name: "Age"},
}
