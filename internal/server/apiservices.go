package server

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/apiregistration"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// newAPIServices returns the controller that keeps an APIService for each group and version that is served. It waits
// until ready is closed: all CRDs are known, and the system objects exist.
func newAPIServices(
	store *dynamicstorage.Store, table *crds.Table, builtins *builtin.Set, ready <-chan struct{},
) *apiregistration.Controller {
	versions := []schema.GroupVersion{
		apiextensionsv1.SchemeGroupVersion, authenticationv1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion,
	}
	for _, d := range builtins.Definitions {
		versions = append(versions, d.GroupVersion)
	}
	controller := apiregistration.NewController(apiregistration.Config{
		Store:   store,
		BuiltIn: versions,
		Served:  table.ServedVersions,
		Serves:  table.ServesVersion,
		Ready:   ready,
	})
	table.OnVersionsChange(controller.Changed)
	return controller
}
