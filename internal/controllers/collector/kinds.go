package collector

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crds"
)

// Resource is a served resource.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	// Folder is the part of the objects' keys before the namespace or name.
	Folder string
}

// key returns the key of an object without the prefix.
func (r *Resource) key(namespace, name string) string {
	if r.Namespaced {
		return r.Folder + "/" + namespace + "/" + name
	}
	return r.Folder + "/" + name
}

// Kinds finds served resources: those of a table of CRDs and built-in ones.
type Kinds struct {
	table   *crds.Table
	kinds   map[schema.GroupVersionKind]Resource
	folders map[string]Resource
}

// NewKinds returns the kinds of a table and of built-in resources, and CustomResourceDefinition.
func NewKinds(table *crds.Table, builtin []*resource.Definition) *Kinds {
	k := &Kinds{table: table, kinds: map[schema.GroupVersionKind]Resource{}, folders: map[string]Resource{}}
	definitions := Resource{
		GroupVersionResource: schema.GroupVersionResource{Group: crds.GroupName, Version: "v1", Resource: crds.Plural},
		Kind:                 "CustomResourceDefinition",
		Folder:               crds.GroupName + "/" + crds.Plural,
	}
	k.kinds[definitions.GroupVersion().WithKind(definitions.Kind)] = definitions
	k.folders[definitions.Folder] = definitions
	for _, definition := range builtin {
		served := Resource{GroupVersionResource: definition.GroupVersionResource(), Kind: definition.Kind,
			Namespaced: definition.Namespaced, Folder: definition.StorageFolder()}
		if definition.HasVerbs("get") {
			k.kinds[definition.GroupVersionKind()] = served
		}
		if _, known := k.folders[served.Folder]; !known && collectable(definition) {
			k.folders[served.Folder] = served
		}
	}
	return k
}

// collectable reports whether the objects of a built-in resource can be dependents. Events cannot: there are many, and
// they expire.
func collectable(d *resource.Definition) bool {
	return !d.Expires && d.HasVerbs("delete", "list", "watch")
}

// OfKind returns the resource that serves a kind in a version.
func (k *Kinds) OfKind(kind schema.GroupVersionKind) (Resource, bool) {
	if served, ok := k.kinds[kind]; ok {
		return served, true
	}
	for record := range k.table.Group(kind.Group) {
		if record.Established && record.AcceptedNames.Kind == kind.Kind {
			version := record.Version(kind.Version)
			if version == nil || !version.Served {
				return Resource{}, false
			}
			return customResource(record, kind.Version), true
		}
	}
	return Resource{}, false
}

// AtFolder returns the resource of the objects in a folder, in one of its versions.
func (k *Kinds) AtFolder(folder string) (Resource, bool) {
	if served, ok := k.folders[folder]; ok {
		return served, true
	}
	group, plural, _ := strings.Cut(folder, "/")
	record, ok := k.table.Get(plural + "." + group)
	if !ok || !record.Established {
		return Resource{}, false
	}
	n := slices.IndexFunc(record.Versions, func(v crds.Version) bool { return v.Served })
	if n < 0 {
		return Resource{}, false
	}
	return customResource(record, record.Versions[n].Name), true
}

func customResource(record *crds.Record, version string) Resource {
	return Resource{
		GroupVersionResource: schema.GroupVersion{Group: record.Group, Version: version}.WithResource(record.Names.Plural),
		Kind:                 record.AcceptedNames.Kind,
		Namespaced:           record.Namespaced,
		Folder:               record.Group + "/" + record.Names.Plural,
	}
}

// FolderOf returns the folder of a key. It is empty if the collector ignores keys like this one. Only groups have a
// dot, and the folder of a resource in a group is "<group>/<plural>". It does not matter whether the CRD is known yet.
func (k *Kinds) FolderOf(key string) string {
	first, rest, _ := strings.Cut(key, "/")
	if plural, _, ok := strings.Cut(rest, "/"); ok {
		folder := key[:len(first)+1+len(plural)]
		if _, builtin := k.folders[folder]; builtin || strings.Contains(first, ".") {
			return folder
		}
	}
	if _, builtin := k.folders[first]; builtin {
		return first
	}
	return ""
}

// location is where the object of a key is.
type location struct{ folder, namespace, name string }

// locate splits a key; false if the collector ignores it.
func (k *Kinds) locate(key string) (location, bool) {
	folder := k.FolderOf(key)
	if folder == "" {
		return location{}, false
	}
	rest := key[len(folder)+1:]
	namespace, name, namespaced := strings.Cut(rest, "/")
	if !namespaced {
		namespace, name = "", rest
	}
	return location{folder, namespace, name}, name != "" && !strings.Contains(name, "/")
}
