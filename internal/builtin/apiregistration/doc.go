// Package apiregistration serves APIServices as kube-aggregator does, although there is nothing to aggregate: one for
// each group and version that the server serves itself, always available. Tools such as kubectl api-versions and helm
// take them as the list of what is served. Clients can only read them.
//
// A Controller keeps the stored APIServices equal to what is served. They are labelled as kube-apiserver labels them,
// so either server can continue the work of the other: those of built-in resources are reconciled once, when a server
// starts, and those of custom resources whenever CRDs change. An APIService without the label belongs to somebody else
// and stays as it is. Replicas need no leader, because all of them write the same, in transactions that fail if another
// was faster.
//
// Begin with Controller.Run.
package apiregistration
