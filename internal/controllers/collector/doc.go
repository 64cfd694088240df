// Package collector is the garbage collector: it deletes objects whose owners are gone, and carries out foreground and
// orphan deletion, as the controller of kube-controller-manager does.
//
// Begin with collector.go: a Collector observes all keys in etcd (observe.go), and keeps an index of the objects that
// have owners, or wait for the collector (index.go), and of the references by which they name their owners
// (references.go). Other objects cost no memory. A reference whose owner it does not know is verified once, by a read
// of etcd (verify.go).
//
// When an owner disappears or waits for its dependents, the dependents are due. decide.go says what to do with an
// object that is due, actions.go does it, by requests to the server's own handler. kinds.go finds the resource of a
// kind and of a key. invalid.go reports references across namespaces.
//
// Every request carries the UID and the resourceVersion of the object that the decision was about. Kinds that are not
// served are left alone: neither their objects nor the dependents of those are touched.
package collector
