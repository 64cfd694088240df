package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/namespaces"
)

// namespaceParts are the parts of a server that serves namespaces.
type namespaceParts struct {
	lifecycle  *namespaces.Lifecycle
	controller *namespaces.Controller
}

// newNamespaces returns the parts for namespaces; nil if the server does not serve them. own is the server's handler.
func newNamespaces(own http.Handler, store *dynamicstorage.Store, table *crds.Table, set *builtin.Set) (*namespaceParts, error) {
	n := slices.IndexFunc(set.Definitions, func(d *resource.Definition) bool { return d.GroupVersion.Group == "" && d.Plural == "namespaces" })
	if n < 0 {
		return nil, nil
	}
	stored := store.ResourceAt(set.Definitions[n].StorageFolder())
	controller, err := namespaces.NewController(namespaces.Config{
		Namespaces: stored,
		Client:     inProcess{own}.clientConfig(),
		Resources:  func() []namespaces.Resource { return namespaces.Resources(store, table, set.Definitions) },
	})
	if err != nil {
		return nil, fmt.Errorf("namespaces: %w", err)
	}
	return &namespaceParts{lifecycle: namespaces.NewLifecycle(stored), controller: controller}, nil
}

// ensure creates the namespaces that every server has. Admission may refuse one; then the controller tries again.
func (p *namespaceParts) ensure(ctx context.Context) error {
	if p == nil {
		return nil
	}
	if err := p.controller.EnsureSystem(ctx); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "System namespaces are missing, will retry")
	}
	return ctx.Err()
}
