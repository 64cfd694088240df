// Package controllers runs the life of CustomResourceDefinitions: which names are accepted, when a CRD is
// established, what is wrong with its schema or its approval, and what happens while it is deleted.
//
// There is one level-based reconcile per CRD. status.go computes every condition at once, and is a pure function of
// the CRD and the names taken in its group (names.go); reconcile.go writes the result, guarded by the revision it
// was computed from. finalize.go removes the objects of a deleted CRD and then the CRD. lifecycle.go is the shell:
// queues, workers, and Settle, with which the CRD endpoint brings a CRD to rest before it answers.
//
// CRDs of a group are settled at the same time, and any number of replicas may do this on one etcd. They compute the same from the same state, and a write that is
// based on an older state fails and is repeated.
package controllers
