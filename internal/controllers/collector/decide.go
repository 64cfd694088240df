package collector

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// action is what has to be done with an object.
type action int

const (
	// leave: nothing, or not yet.
	leave action = iota
	// orphanDependents removes the references to the object from its dependents, and then its finalizer.
	orphanDependents
	// finishForeground removes the finalizer of an object that has waited for its dependents.
	finishForeground
	// release removes the references to owners that are absent or wait, because another owner is there.
	release
	// unblock makes the references of an object not block, because it is in a cycle of owners.
	unblock
	// collect deletes the object.
	collect
)

// decision is an action, and what it is based on.
type decision struct {
	action   action
	key      string
	uid      types.UID
	revision int64
	links    []link
	// owners are the UIDs that release removes.
	owners []types.UID
	// dependents are the keys of those that orphanDependents changes.
	dependents []string
	policy     metav1.DeletionPropagation
}

// isDue reports whether there may be something to do for an object.
func (x *index) isDue(o *object) bool {
	switch {
	case o.orphaning():
		return true
	case o.waiting():
		return x.owners[o.uid].blocking == 0
	case o.deleting:
		return false
	}
	for _, l := range o.links {
		if l.reference.state == absent || x.ownerWaits(l.reference) {
			return true
		}
	}
	return false
}

// ownerWaits reports whether the owner of a reference waits for its dependents.
func (x *index) ownerWaits(r *reference) bool {
	o := x.objects[r.key]
	return o != nil && o.uid == r.uid && o.waiting()
}

// decide returns what to do with an object.
func (x *index) decide(o *object) decision {
	d := decision{key: o.key, uid: o.uid, revision: o.revision, links: o.links}
	switch {
	case !x.isDue(o):
	case o.orphaning():
		d.action = orphanDependents
		for dependent := range x.dependents(o.uid) {
			d.dependents = append(d.dependents, dependent.key)
		}
	case o.waiting():
		d.action = finishForeground
	default:
		x.decideByOwners(o, &d)
	}
	return d
}

// decideByOwners decides about an object of which an owner is absent or waits.
func (x *index) decideByOwners(o *object, d *decision) {
	solid, waiting := false, false
	for _, l := range o.links {
		switch l.reference.state {
		case absent:
			d.owners = append(d.owners, l.reference.uid)
		case present:
			if !x.ownerWaits(l.reference) {
				solid = true
				continue
			}
			waiting = true
			d.owners = append(d.owners, l.reference.uid)
		default: // the object is left alone as long as anything is unknown
			return
		}
	}
	switch {
	case solid:
		d.action = release
	case waiting && x.hasDependents(o.uid):
		d.action, d.policy = collect, metav1.DeletePropagationForeground
		if x.blocksCycle(o) {
			d.action = unblock
		}
	case o.orphans: // the object was deleted before in this way
		d.action, d.policy = collect, metav1.DeletePropagationOrphan
	case o.foreground:
		d.action, d.policy = collect, metav1.DeletePropagationForeground
	default:
		d.action, d.policy = collect, metav1.DeletePropagationBackground
	}
}

func (x *index) hasDependents(uid types.UID) bool {
	for range x.dependents(uid) {
		return true
	}
	return false
}

// blocksCycle reports whether an object blocks an owner, and one of its own dependents waits already: they may be in a
// cycle, and wait for each other forever.
func (x *index) blocksCycle(o *object) bool {
	blocks := false
	for _, l := range o.links {
		blocks = blocks || l.blocks
	}
	if !blocks {
		return false
	}
	for dependent := range x.dependents(o.uid) {
		if dependent.waiting() {
			return true
		}
	}
	return false
}
