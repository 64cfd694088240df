// Package crds runs the life cycle of CustomResourceDefinitions: it grants names, computes the conditions
// Established, NamesAccepted, NonStructuralSchema and Terminating, and deletes the custom resources of a deleted CRD.
//
// Begin at [Lifecycle] in lifecycle.go, which owns the queues and workers. reconcile.go reconciles one CRD: status.go
// computes all its conditions at once, as a pure function of the CRD and of the names that other CRDs hold (names.go),
// and reconcile.go writes them, guarded by the revision they were computed from. finalize.go deletes the custom
// resources of a CRD, then the CRD itself.
//
// CRDs are reconciled concurrently, and any number of replicas may do so on one etcd. Replicas compute the same result
// from the same state; a write that is based on an older state fails and is repeated.
package crds
