package namespaces

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Resource is a namespaced resource. Its objects are deleted with their namespace.
type Resource struct {
	// GroupVersionResource is the resource in the version that clients prefer.
	schema.GroupVersionResource
	// Objects is where its objects are stored, by "namespace/name".
	Objects *dynamicstorage.Resource
}

// Resources returns the namespaced resources that are served now: those of CRDs and built-in ones.
func Resources(store *dynamicstorage.Store, table *crds.Table, definitions []*resource.Definition) []Resource {
	var found []Resource
	for _, d := range definitions {
		if d.Namespaced && d.HasVerbs("list", "deletecollection") { // a collection of it can be deleted
			found = append(found, Resource{d.GroupVersionResource(), store.ResourceAt(d.StorageFolder())})
		}
	}
	for record := range table.All() {
		if preferred := preferredVersion(record); record.Namespaced && record.Established && preferred != "" {
			gvr := schema.GroupVersionResource{Group: record.Group, Version: preferred, Resource: record.Names.Plural}
			found = append(found, Resource{gvr, store.Resource(record.Group, record.Names.Plural)})
		}
	}
	return found
}

// preferredVersion returns the served version that discovery prefers; "" if none is served.
func preferredVersion(record *crds.Record) string {
	var served []string
	for _, v := range record.Versions {
		if v.Served {
			served = append(served, v.Name)
		}
	}
	if len(served) == 0 {
		return ""
	}
	return slices.MaxFunc(served, version.CompareKubeAwareVersionStrings)
}
