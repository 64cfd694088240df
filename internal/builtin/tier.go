package builtin

import "github.com/crd-server/crd-server/internal/builtin/resource"

// The tiers of built-in resources.
const (
	// None is no built-in resource but CRDs.
	None = "none"
	// TierEssential is what controllers need beside custom resources.
	TierEssential = "essential"
	// TierAll is every kind of k8s.io/api.
	TierAll = "all"
)

// Definitions returns the resources of a tier.
func Definitions(tier string) []*resource.Definition {
	switch tier {
	case None:
		return nil
	case TierAll:
		return All()
	}
	return Essential()
}
