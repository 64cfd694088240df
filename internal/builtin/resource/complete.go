package resource

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Complete fills in what follows from the Go types of Kubernetes by its conventions: the versions, the kinds, the types
// of lists, and the names and verbs that a definition leaves out. A status is written at an endpoint of its own, which
// resets the spec if the definition does not say what. It returns its argument.
func Complete(definitions []*Definition) []*Definition {
	for _, d := range definitions {
		if kind := kindOf(d.Object); !kind.Empty() {
			d.GroupVersion, d.Kind = kind.GroupVersion(), kind.Kind
		}
		if list, err := scheme.Scheme.New(d.GroupVersion.WithKind(d.Kind + "List")); err == nil {
			d.List = list
		}
		plural, singular := meta.UnsafeGuessKindToResource(d.GroupVersionKind())
		d.Plural, d.Singular = cmp.Or(d.Plural, plural.Resource), cmp.Or(d.Singular, singular.Resource)
		if d.Storage != nil {
			kind := kindOf(d.Storage.Object)
			d.Storage.GroupVersion, d.Storage.Kind = kind.GroupVersion(), kind.Kind
		}
		for n := range d.Subresources {
			d.completeSubresource(&d.Subresources[n])
		}
	}
	return definitions
}

func (d *Definition) completeSubresource(sub *Subresource) {
	switch {
	case sub.Verbs != nil:
	case sub.Action != nil:
		sub.Verbs = []string{"create"}
	default:
		sub.Verbs = SubresourceVerbs
	}
	if sub.Name != "status" {
		return
	}
	if sub.Resets == nil {
		sub.Resets = []string{"spec"}
	}
	if d.Resets == nil {
		d.Resets = []string{"status"}
	}
}

// kindOf returns the kind of a type of k8s.io/api, or nothing.
func kindOf(obj runtime.Object) schema.GroupVersionKind {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return schema.GroupVersionKind{}
	}
	return kinds[0]
}
