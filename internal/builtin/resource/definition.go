// Package resource says what a built-in resource is, as a CustomResourceDefinition says it of a custom resource. The
// rows of the table in package builtin are its Definitions.
//
// Begin at definition.go. complete.go fills in what follows from the Go types, strategy.go has the rules for writes,
// plain.go those of kinds with few rules, columns.go the printed columns.
package resource

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Definition is a built-in resource in one version. Only Object is required of a type of k8s.io/api: Complete fills in
// the rest of the first block. A definition does not change when it is complete. Plugins admit the writes of its
// endpoints besides.
type Definition struct {
	// Object and List are empty objects of the Go types. A resource that is not stored has no List.
	Object, List runtime.Object
	// GroupVersion and the names are those of discovery. The group of core/v1 is empty.
	GroupVersion           schema.GroupVersion
	Kind, Plural, Singular string

	ShortNames, Categories []string
	Namespaced             bool

	// Strategy has the rules for writes of the resource. Nil is Rules{}.
	Strategy Strategy
	// Default sets the fields that a decoded object leaves out.
	Default func(obj runtime.Object)
	// Resets names the fields that a write of the resource cannot change, such as "status" or "status.conditions".
	Resets []string
	// Verbs are the verbs of the resource; nil means AllVerbs.
	Verbs []string
	// Subresources of the resource. "status" is one of them if there is a status.
	Subresources []Subresource
	// ActsAs makes a creation the action of a subresource of another resource of the version, such as "pods/binding". The
	// body names the object. The only verb is create then, and nothing is stored.
	ActsAs string

	// Deprecated, if set, is the warning about every request for the resource.
	Deprecated string

	// Columns are printed by kubectl get. Nil means DefaultColumns.
	Columns interface {
		Printer(obj runtime.Object) *Printer
	}
	// Fields may be named by field selectors. Nil means the name and the namespace.
	Fields *Fields

	// Folder is the part of a key in etcd between the prefix and the namespace or name. kube-apiserver's is the plural
	// for nearly all resources, and an empty Folder means that.
	Folder string
	// Storage converts objects to another version in which they are stored; nil if they are stored as they are served.
	Storage *Storage
	// Upgrade, if set, completes obj, an object in the version in which the kind is stored now. old is the object as it
	// was stored, in another version of Kubernetes' types. obj has the fields already that have the same names in JSON,
	// so Upgrade is for versions whose fields have other names or meanings. obj may share parts with old.
	Upgrade func(old, obj runtime.Object) error
	// Expires says that objects are deleted after the time that the server sets for events.
	Expires bool

	// GracePeriod, if set, returns the seconds that an object stays after the first DELETE. The options never ask for a
	// negative number. Zero removes the object at once.
	GracePeriod func(obj runtime.Object, options *metav1.DeleteOptions) int64
	// OrphansDependents says that a DELETE without a propagation policy orphans the dependents.
	OrphansDependents bool
	// DeleteWarnings, if set, returns the warnings about a DELETE.
	DeleteWarnings func(options *metav1.DeleteOptions) []string

	// BeginDeletion, if set, changes the object of the first DELETE. If it returns true, the changed object is stored
	// instead of being removed.
	BeginDeletion func(obj runtime.Object) bool
	// Held, if set, reports whether an object that is being deleted must stay although it has no finalizers.
	Held func(obj runtime.Object) bool
	// ReturnsDeleted says that a DELETE is answered with the removed object instead of a Status.
	ReturnsDeleted bool
}

// AllVerbs are the verbs of a resource.
var AllVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// SubresourceVerbs are the verbs of a subresource that reads and writes a part of the object, such as status and scale.
var SubresourceVerbs = []string{"get", "patch", "update"}

// Subresource is an endpoint for a part of an object, or for an action on it.
type Subresource struct {
	Name string
	// Verbs that the endpoint has, of get, update, patch and create. Complete sets the usual ones.
	Verbs    []string
	Strategy Strategy
	// Resets names the fields that a write of the endpoint cannot change.
	Resets []string
	// Updated, if set, is called when an update has been stored. It must not modify the objects.
	Updated func(obj, old runtime.Object)
	// Action makes the endpoint one for an action. Its only verb is create then.
	Action *Action
	// Connect makes the endpoint one for connections to the object.
	Connect *Connect
	// Scale makes the endpoint one for Scales of the objects. The strategy is that of the resource.
	Scale *Scale
}

// Storage is the version in which the objects of another version are stored.
type Storage struct {
	// GroupVersion and Kind name the type in etcd, Object is an empty object of it.
	GroupVersion schema.GroupVersion
	Kind         string
	Object       runtime.Object
	// Encode returns the object to store for a served one, Decode the reverse. They may share parts with their argument.
	Encode, Decode func(obj runtime.Object) (runtime.Object, error)
}

// GroupVersionKind returns the kind of the objects.
func (d *Definition) GroupVersionKind() schema.GroupVersionKind {
	return d.GroupVersion.WithKind(d.Kind)
}

// GroupVersionResource returns the resource.
func (d *Definition) GroupVersionResource() schema.GroupVersionResource {
	return d.GroupVersion.WithResource(d.Plural)
}

// The verbs of the path of a collection, and of the path of an object. A list is named if its field selector has a
// name.
var (
	collectionVerbs = []string{"create", "deletecollection", "list", "watch"}
	objectVerbs     = []string{"delete", "get", "list", "patch", "update", "watch"}
)

// Printer returns a printer of the objects.
func (d *Definition) Printer() *Printer {
	if d.Columns == nil {
		return DefaultColumns.Printer(d.Object)
	}
	return d.Columns.Printer(d.Object)
}

// Allows reports whether a path has a verb. named says that the path names an object.
func (d *Definition) Allows(verb, subresource string, named bool) bool {
	if subresource != "" {
		sub := d.Subresource(subresource)
		return named && sub != nil && slices.Contains(sub.Verbs, verb)
	}
	path := collectionVerbs
	if named {
		path = objectVerbs
	}
	return slices.Contains(path, verb) && slices.Contains(d.VerbList(), verb)
}

// HasObjects reports whether the resource has paths of single objects. Bindings can only be created.
func (d *Definition) HasObjects() bool {
	return slices.ContainsFunc([]string{"get", "update", "patch", "delete"}, func(verb string) bool {
		return slices.Contains(d.VerbList(), verb)
	})
}

// VerbList returns the verbs of the resource. The caller must not modify it.
func (d *Definition) VerbList() []string {
	if d.Verbs == nil {
		return AllVerbs
	}
	return d.Verbs
}

// HasVerbs reports whether the resource has all of some verbs.
func (d *Definition) HasVerbs(verbs ...string) bool {
	return !slices.ContainsFunc(verbs, func(verb string) bool { return !slices.Contains(d.VerbList(), verb) })
}

// Subresource returns a subresource, or nil if there is none of that name.
func (d *Definition) Subresource(name string) *Subresource {
	for n := range d.Subresources {
		if d.Subresources[n].Name == name {
			return &d.Subresources[n]
		}
	}
	return nil
}

// StorageFolder returns Folder, or the plural if that is empty.
func (d *Definition) StorageFolder() string {
	if d.Folder != "" {
		return d.Folder
	}
	return d.Plural
}
