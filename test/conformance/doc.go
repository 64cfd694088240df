// Command conformance runs the integration suite of k8s.io/apiextensions-apiserver, unmodified, against the built
// crd-server.
//
// It copies the module from the module cache into the build folder and replaces one file of the copy:
// testserver.go.txt of this folder takes the place of pkg/cmd/server/testing/testserver.go. It compiles the tests
// from the copy and runs them against the binary, each in its own process, several at a time, on one etcd in the
// process of this command. At the end it prints how many tests passed and which failed; a failure is exit code 1.
//
// Begin with main.go. suite.go compiles the tests; run.go runs them and collects their output.
package main
