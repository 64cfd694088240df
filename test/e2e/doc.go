// Package e2e uses crd-server as its users do: the built binary runs as a process, and kubectl, client-go,
// controller-runtime and plain HTTP talk to it.
//
// Begin with server_test.go, which starts servers. The scripts in testdata/kubectl read like a terminal session;
// kubectl_test.go runs them. restart_test.go checks what survives a restart, replicas_test.go that clients of
// replicas continue during one, election_test.go and reconciler_test.go that controllers elect a leader and own
// objects, interop_test.go that upstream's server and crd-server can take over each other's data, attack_test.go and
// secrets_test.go that nobody gets more than they may.
//
// The binary is ../../bin/crd-server (make build); the environment variable CRD_SERVER names another one.
// CRD_SERVER_LOGS=1 prints the logs of servers.
package e2e
