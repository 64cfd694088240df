package builtins

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/access/admission"
	"github.com/crd-server/crd-server/internal/crds"
)

// admissionRules are the resources whose objects make admission necessary. A policy has no effect without a binding.
var admissionRules = []schema.GroupResource{
	{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicybindings"},
	{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicybindings"},
	{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"},
}

// FollowRules tells admission which rules are stored, and when other resources are served.
func FollowRules(a *admission.Admission, c *Config) {
	for _, rules := range admissionRules {
		if d := c.Set.Find(rules); d != nil {
			a.Follow(c.Store.ResourceAt(d.StorageFolder()))
		}
	}
	c.Table.OnChange(func(old, record *crds.Record) {
		if old == nil || record == nil || old.Established != record.Established || old.SpecHash != record.SpecHash {
			a.ResourcesChanged()
		}
	})
}
