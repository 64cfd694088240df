package collector

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crd-server/crd-server/internal/crds"
)

// index has the objects that have owners or wait for the collector, and the references to their owners. It is not safe
// for concurrent use.
type index struct {
	kinds *Kinds
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

func newIndex(kinds *Kinds, due func(*object), verify func(*reference)) *index {
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

// put records an object. It reports what has become due.
func (x *index) put(key string, revision int64, m *crds.Metadata) {
	x.checkNamed(key, m.UID)
	old := x.objects[key]
	if old != nil && old.uid != m.UID {
		x.forget(old)
		old = nil
	}
	place, ok := x.kinds.locate(key)
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
