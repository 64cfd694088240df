package etcd

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Folders knows which resource the keys in etcd belong to. The folder of a custom resource is <group>/<plural>. Those
// of built-in resources are added.
type Folders struct {
	prefix    string // with a trailing slash
	resources map[string]schema.GroupResource
	folders   map[schema.GroupResource]string
}

// NewFolders returns the folders below a prefix of keys.
func NewFolders(prefix string) *Folders {
	return &Folders{
		prefix:    strings.TrimRight(prefix, "/") + "/",
		resources: map[string]schema.GroupResource{},
		folders:   map[schema.GroupResource]string{},
	}
}

// Add adds the folder of a resource. Several resources may have the same folder: its keys count as those of the first.
// Add must not be called after the first use of f.
func (f *Folders) Add(folder string, resource schema.GroupResource) {
	if _, taken := f.resources[folder]; !taken {
		f.resources[folder] = resource
	}
	f.folders[resource] = folder
}

// Has reports whether a resource was added.
func (f *Folders) Has(resource schema.GroupResource) bool {
	_, added := f.folders[resource]
	return added
}

// Folder returns the folder of a resource.
func (f *Folders) Folder(resource schema.GroupResource) string {
	if folder, added := f.folders[resource]; added {
		return folder
	}
	return resource.Group + "/" + resource.Resource
}

// Resource returns the resource of a key; an empty one if the key is not below the prefix. The names are parts of the
// key, unless the resource was added.
func (f *Folders) Resource(key string) schema.GroupResource {
	below, ours := strings.CutPrefix(key, f.prefix)
	if !ours {
		return schema.GroupResource{}
	}
	return f.resourceOf(below)
}

// ResourceIn returns the resource of a folder.
func (f *Folders) ResourceIn(folder string) schema.GroupResource { return f.resourceOf(folder + "/") }

func (f *Folders) resourceOf(below string) schema.GroupResource {
	group, rest, _ := strings.Cut(below, "/")
	for end := len(group); end < len(below) && !strings.Contains(group, "."); end++ {
		if below[end] != '/' {
			continue
		}
		if resource, added := f.resources[below[:end]]; added {
			return resource
		}
	}
	plural, _, _ := strings.Cut(rest, "/")
	return schema.GroupResource{Group: group, Resource: plural}
}
