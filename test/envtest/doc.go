// Package envtest uses the folder that crd-server envtest makes as controller-runtime's envtest does: its
// kube-apiserver and etcd are processes of crd-server.
//
// TestDifferential compares the flags with those of kube-apiserver; with -upstream it runs, and so do all other tests
// with the programs of Kubernetes and etcd instead. BenchmarkStart measures what an environment costs.
//
// The binary is ../../bin/crd-server (make build); the environment variable CRD_SERVER names another one.
package envtest
