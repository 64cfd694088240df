// Package aggregator has kube-aggregator, as kube-apiserver has it, in front of the built crd-server: users ask the
// aggregator, and what belongs to a CustomResourceDefinition of crd-server is answered by crd-server.
//
// Begin with installation_test.go: a host cluster (the aggregator of k8s.io/kube-aggregator, behind which core_test.go answers
// what else crd-server asks of it), and a crd-server that is told of it by its flags.
//
// The binary is ../../bin/crd-server (make build); the environment variable CRD_SERVER names another one.
package aggregator
