package collector

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// identity is what an ownerReference says of an owner. The namespace is that of the dependent; it is empty if the
// owner's kind is cluster-scoped.
type identity struct {
	uid                               types.UID
	apiVersion, kind, namespace, name string
}

func (i *identity) groupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(i.apiVersion, i.kind)
}

// state is what is known of the owner that a reference names.
type state uint8

const (
	// The zero state: the kind of the owner is not served.
	_ state = iota
	// unverified: nobody has looked yet.
	unverified
	present
	// absent: there is no such object with this UID. That is final.
	absent
	// misplaced: a cluster-scoped object names an owner of a namespaced kind. Such objects are left alone.
	misplaced
)

// reference stands for equal ownerReferences of any number of objects.
type reference struct {
	identity
	state state
	// key is the key of the owner; empty while its kind is not served, or if it is misplaced.
	key        string
	namespaced bool // the kind of the owner
	dependents map[*object]struct{}
}

// owner has all references with a UID.
type owner struct {
	references []*reference
	// blocking is the number of links with this UID that block.
	blocking int
	// finalizing is the object of the UID, if that waits for the collector.
	finalizing *object
}

// is reports whether an ownerReference of an object in a namespace is this one.
func (r *reference) is(namespace string, ref *metav1.OwnerReference) bool {
	return r.uid == ref.UID && r.name == ref.Name && r.kind == ref.Kind && r.apiVersion == ref.APIVersion &&
		(r.namespace == namespace || r.key != "" && !r.namespaced)
}

// reference returns the reference for an ownerReference of an object in a namespace.
func (x *index) reference(namespace string, ref *metav1.OwnerReference) *reference {
	id := identity{ref.UID, ref.APIVersion, ref.Kind, namespace, ref.Name}
	if r := x.references[id]; r != nil {
		return r
	}
	clusterScoped := id
	clusterScoped.namespace = ""
	shared := x.references[clusterScoped]
	if shared != nil && shared.key != "" && !shared.namespaced {
		return shared
	}
	r := &reference{identity: id, dependents: map[*object]struct{}{}}
	owner := x.ownerOf(id.uid)
	owner.references = append(owner.references, r)
	x.resolve(r)
	if r.key != "" && !r.namespaced && shared == nil {
		r.identity = clusterScoped // objects of all namespaces share it
	}
	x.references[r.identity] = r
	return r
}

// resolve finds the key of an owner, if its kind is served.
func (x *index) resolve(r *reference) {
	served, ok := x.kinds.OfKind(r.groupVersionKind())
	if !ok {
		x.unserved[r] = struct{}{}
		return
	}
	delete(x.unserved, r)
	r.namespaced = served.Namespaced
	if r.namespaced && r.namespace == "" {
		r.state = misplaced
		return
	}
	r.state, r.key = unverified, served.key(r.namespace, r.name)
	x.named[r.key] = append(x.named[r.key], r)
	x.verify(r)
}

// setState records what was found out about the owner of a reference.
func (x *index) setState(r *reference, s state) {
	if r.state == absent || r.state == s {
		return
	}
	r.state = s
	for dependent := range r.dependents {
		if x.isDue(dependent) {
			x.due(dependent)
		}
	}
}

func (x *index) drop(r *reference) {
	delete(x.references, r.identity)
	delete(x.unserved, r)
	if left := without(x.named[r.key], r); len(left) > 0 {
		x.named[r.key] = left
	} else {
		delete(x.named, r.key)
	}
	owner := x.owners[r.uid]
	owner.references = without(owner.references, r)
	x.dropOwner(r.uid, owner)
}

func without(all []*reference, r *reference) []*reference {
	if n := slices.Index(all, r); n >= 0 {
		all[n] = all[len(all)-1]
		all[len(all)-1] = nil
		return all[:len(all)-1]
	}
	return all
}

// ownerOf returns the owner of a UID, which the caller has to use or drop.
func (x *index) ownerOf(uid types.UID) *owner {
	known := x.owners[uid]
	if known == nil {
		known = &owner{}
		x.owners[uid] = known
	}
	return known
}

func (x *index) dropOwner(uid types.UID, o *owner) {
	if len(o.references) == 0 && o.finalizing == nil {
		delete(x.owners, uid)
	}
}
