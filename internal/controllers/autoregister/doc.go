// Package autoregister keeps an APIService for each group and version that this server serves, as kube-apiserver's
// controller of this name does. Their labels are kube-apiserver's too, so either server can continue the work of the
// other: those of built-in resources are reconciled once, when a server starts, and those of custom resources whenever
// CRDs change. An APIService without the label belongs to somebody else and stays as it is. Replicas need no leader,
// because all of them write the same, in transactions that fail if another was faster.
//
// Begin with Controller.Run.
package autoregister
