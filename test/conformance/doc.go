// Command conformance runs the integration suite of
// k8s.io/apiextensions-apiserver, unmodified, against the built crd-server.
//
// It takes the module from the module cache, copies it into the build folder,
// and replaces one file of the copy: pkg/cmd/server/testing/testserver.go, by
// testserver.go.txt of this folder. The tests are compiled from the copy and
// run against the binary, each in a process of its own, several at a time, on
// one etcd that this command starts in its own process. At the end it prints
// how many tests passed and failed, and which; a failure is exit code 1.
//
// Begin with main.go: suite.go makes the test binaries, etcd.go the etcd,
// run.go runs the tests and collects what they print.
package main
