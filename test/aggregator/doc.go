// Package aggregator runs kube-aggregator, as in kube-apiserver, in front of the built crd-server: users send
// requests to the aggregator, which proxies those for custom resources to crd-server.
//
// Begin with installation_test.go. It starts a host cluster and a crd-server that is configured for it by its flags.
// The host cluster is the aggregator of k8s.io/kube-aggregator; core_test.go serves the other APIs that crd-server
// calls.
//
// The binary is ../../bin/crd-server (make build); the environment variable CRD_SERVER names another one.
package aggregator
