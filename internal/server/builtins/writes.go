package builtins

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/allocator"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/controllers/namespaces"
	"github.com/crd-server/crd-server/internal/controllers/quota"
	"github.com/crd-server/crd-server/internal/crdhandler/write"
)

// Writes has what the handler asks about writes besides the definitions of the resources.
type Writes struct {
	Plugins resource.Plugins
	// Actions do the actions of subresources, by "resource/subresource".
	Actions    map[string]resource.ActionFunc
	Allocators map[schema.GroupResource]resource.Allocator
	// Namespaces is nil if objects may be created in every namespace.
	Namespaces write.NamespaceLifecycle
	// Quotas is nil if nothing limits what the objects of a namespace use.
	Quotas write.ResourceQuotas

	// usage keeps the status of quotas; nil without quotas.
	usage *quota.Controller
	// addresses is the allocator of Services; nil without Services.
	addresses *allocator.Services
}

// NewWrites returns what the handler asks about writes.
func NewWrites(c *Config) (*Writes, error) {
	plugins, err := newPlugins(c)
	if err != nil {
		return nil, err
	}
	limited, err := c.Admission.QuotaConfiguration()
	if err != nil {
		return nil, err
	}
	quotas, usage := quota.New(quota.Config{
		Store: c.Store, Table: c.Table, Set: c.Set, Client: c.Client, Limited: limited,
	})
	addresses := allocator.New(allocator.Config{
		Store: c.Store, Set: c.Set, Ranges: c.Services.Ranges, NodePorts: c.Services.NodePorts,
	})
	w := &Writes{
		Plugins: plugins, Actions: newActions(c), Allocators: addresses.ByResource(), usage: usage, addresses: addresses,
	}
	if d := c.Set.Find(namespacesResource); d != nil && c.Admission.HasNamespaceLifecycle(true) {
		w.Namespaces = namespaces.NewLifecycle(c.Store.ResourceAt(d.StorageFolder()))
	}
	if quotas != nil && c.Admission.HasResourceQuota(true) {
		w.Quotas = quotas
	}
	return w, nil
}
