package server

import (
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/apiregistration"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// newAPIServices returns the controller that keeps an APIService for each group and version that is served.
func newAPIServices(store *dynamicstorage.Store, table *crds.Table, builtins *builtin.Set) *apiregistration.Controller {
	versions := []schema.GroupVersion{
		apiextensionsv1.SchemeGroupVersion, authenticationv1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion,
	}
	for _, d := range builtins.Definitions {
		versions = append(versions, d.GroupVersion)
	}
	controller := apiregistration.NewController(apiregistration.Config{
		Store:   store,
		BuiltIn: versions,
		Served: func() (served []schema.GroupVersion) {
			for record := range table.All() {
				served = append(served, servedVersions(record)...)
			}
			return served
		},
		Serves: func(version schema.GroupVersion) bool {
			for record := range table.Group(version.Group) {
				if slices.Contains(servedVersions(record), version) {
					return true
				}
			}
			return false
		},
		Synced: table.Synced(),
	})
	table.OnChange(func(old, current *crds.Record) {
		controller.Changed(append(servedVersions(old), servedVersions(current)...)...)
	})
	return controller
}

// servedVersions returns the versions in which a CRD is served; none if record is nil.
func servedVersions(record *crds.Record) (versions []schema.GroupVersion) {
	if record == nil || !record.Established {
		return nil
	}
	for _, v := range record.Versions {
		if v.Served {
			versions = append(versions, schema.GroupVersion{Group: record.Group, Version: v.Name})
		}
	}
	return versions
}
