package collector

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crd-server/crd-server/internal/crds"
)

// index has the objects that have owners or wait for the collector, and the references to their owners. It is not safe
// for concurrent use.
type index struct {
	kinds Kinds
	// due is called for an object that has to be looked at, verify for a reference whose owner is not known.
	due    func(*object)
	verify func(*reference)

	objects    map[string]*object // by key
	references map[identity]*reference
	owners     map[types.UID]*owner
	// named has the references that name the object at a key, of whatever UID.
	named map[string][]*reference
	// unserved are the references to kinds that are not served.
	unserved map[*reference]struct{}
}

func newIndex(kinds Kinds, due func(*object), verify func(*reference)) *index {
	return &index{
		kinds: kinds, due: due, verify: verify,
		objects: map[string]*object{}, references: map[identity]*reference{}, owners: map[types.UID]*owner{},
		named: map[string][]*reference{}, unserved: map[*reference]struct{}{},
	}
}

// object is an object that has owners, or is being deleted and has a finalizer of the collector.
type object struct {
	key      string
	uid      types.UID
	revision int64
	// orphans and foreground: it has the finalizer.
	orphans, foreground, deleting bool
	// links to owners. The slice is immutable.
	links []link
}

// link is a reference of an object.
type link struct {
	reference *reference
	// blocks: the foreground deletion of the owner waits for the object.
	blocks bool
}

// orphaning reports whether an object waits until its dependents do not refer to it.
func (o *object) orphaning() bool { return o.deleting && o.orphans }

// waiting reports whether an object waits until its dependents are deleted.
func (o *object) waiting() bool { return o.deleting && o.foreground && !o.orphans }

// finalizing reports whether an object waits for the collector.
func (o *object) finalizing() bool { return o.orphaning() || o.waiting() }

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
	// unserved: its kind is not served.
	unserved state = iota
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

// put records an object. It reports what has become due.
func (x *index) put(key string, revision int64, m *crds.Metadata) {
	x.checkNamed(key, m.UID)
	old := x.objects[key]
	if old != nil && old.uid != m.UID {
		x.forget(old)
		old = nil
	}
	place, ok := locate(x.kinds, key)
	if !ok {
		return
	}
	o := old
	if o == nil {
		o = &object{key: key, uid: m.UID}
	}
	wasFinalizing, wasWaiting := o.finalizing(), o.waiting()
	o.revision, o.deleting = revision, m.Deleting
	o.orphans = slices.Contains(m.Finalizers, metav1.FinalizerOrphanDependents)
	o.foreground = slices.Contains(m.Finalizers, metav1.FinalizerDeleteDependents)
	if len(m.OwnerReferences) == 0 && !o.finalizing() {
		if old != nil {
			x.forget(old)
		}
		return
	}
	x.objects[key] = o
	x.link(o, place.namespace, m.OwnerReferences)
	if o.finalizing() != wasFinalizing {
		x.setFinalizing(o)
	}
	if o.waiting() && !wasWaiting {
		x.dependentsDue(o.uid)
	}
	if x.isDue(o) {
		x.due(o)
	}
}

// remove records that a key was deleted.
func (x *index) remove(key string) {
	x.checkNamed(key, "")
	if o := x.objects[key]; o != nil {
		x.forget(o)
	}
}

// checkNamed updates the references to the object at a key, which has the UID now.
func (x *index) checkNamed(key string, uid types.UID) {
	for _, r := range x.named[key] {
		switch {
		case r.uid != uid:
			x.setState(r, absent)
		case r.state == unverified:
			x.setState(r, present)
		}
	}
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

// forget removes an object. Other objects may still refer to it.
func (x *index) forget(o *object) {
	delete(x.objects, o.key)
	o.deleting = false
	x.setFinalizing(o)
	links := o.links
	o.links = nil
	x.unlink(o, links)
}

// link replaces the links of an object.
func (x *index) link(o *object, namespace string, references []metav1.OwnerReference) {
	if o.refersTo(namespace, references) {
		return
	}
	var links []link
	for n := range references {
		ref := &references[n]
		l := link{x.reference(namespace, ref), ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion}
		l.reference.dependents[o] = struct{}{}
		if l.blocks {
			x.owners[l.reference.uid].blocking++
		}
		links = append(links, l)
	}
	old := o.links
	o.links = links
	x.unlink(o, old)
}

// refersTo reports whether an object has links for these references, in this order.
func (o *object) refersTo(namespace string, references []metav1.OwnerReference) bool {
	return slices.EqualFunc(o.links, references, func(l link, ref metav1.OwnerReference) bool {
		return l.blocks == (ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion) && l.reference.is(namespace, &ref)
	})
}

// is reports whether an ownerReference of an object in a namespace is this one.
func (r *reference) is(namespace string, ref *metav1.OwnerReference) bool {
	return r.uid == ref.UID && r.name == ref.Name && r.kind == ref.Kind && r.apiVersion == ref.APIVersion &&
		(r.namespace == namespace || r.key != "" && !r.namespaced)
}

// unlink ends links that an object had. A reference goes with its last dependent.
func (x *index) unlink(o *object, links []link) {
	for _, l := range links {
		if !l.blocks {
			continue
		}
		owner := x.owners[l.reference.uid]
		if owner.blocking--; owner.blocking == 0 && owner.finalizing != nil {
			x.due(owner.finalizing)
		}
	}
	for _, l := range links {
		r := l.reference
		if slices.ContainsFunc(o.links, func(now link) bool { return now.reference == r }) {
			continue
		}
		delete(r.dependents, o)
		if len(r.dependents) == 0 && x.references[r.identity] == r {
			x.drop(r)
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

// setFinalizing records whether an object waits for the collector.
func (x *index) setFinalizing(o *object) {
	if o.finalizing() {
		x.ownerOf(o.uid).finalizing = o
	} else if known := x.owners[o.uid]; known != nil && known.finalizing == o {
		known.finalizing = nil
		x.dropOwner(o.uid, known)
	}
}

// dependentsDue makes all objects due that refer to a UID.
func (x *index) dependentsDue(uid types.UID) {
	for dependent := range x.dependents(uid) {
		if x.isDue(dependent) {
			x.due(dependent)
		}
	}
}

// dependents yields the objects that refer to a UID, some more than once.
func (x *index) dependents(uid types.UID) func(yield func(*object) bool) {
	return func(yield func(*object) bool) {
		known := x.owners[uid]
		if known == nil {
			return
		}
		for _, r := range known.references {
			for dependent := range r.dependents {
				if !yield(dependent) {
					return
				}
			}
		}
	}
}
