// Package e2e uses crd-server as its users do: the built binary runs as a
// process, and kubectl, client-go, controller-runtime and plain HTTP talk to it.
//
// Begin with server_test.go, which starts servers. The scripts under
// testdata/kubectl read like a terminal session: what is typed, and what must
// be seen (kubectl_test.go runs them). refused_test.go holds what must be
// refused and how, restart_test.go what must survive, replicas_test.go what
// must go on meanwhile, interop_test.go what upstream's server must be able to
// go on with, attack_test.go and secrets_test.go what nobody may get.
//
// The binary is ../../bin/crd-server (make build); the environment variable
// CRD_SERVER names another one. CRD_SERVER_LOGS=1 prints what servers log.
package e2e
