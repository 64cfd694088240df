package server

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/builtin"
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
func newNamespaces(
	own http.Handler, store *dynamicstorage.Store, table *crds.Table, set *builtin.Set,
) (*namespaceParts, error) {
	definition := set.Find(schema.GroupResource{Resource: "namespaces"})
	if definition == nil {
		return nil, nil
	}
	stored := store.ResourceAt(definition.StorageFolder())
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
