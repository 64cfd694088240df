// Command kubernetes runs integration tests of Kubernetes (k8s.io/kubernetes/test/integration), unmodified, against the
// built crd-server, and compares the results with those of kube-apiserver: a test that passes there must pass here.
//
// Upstream's tests start kube-apiserver in their own process. So the command copies the module to the build folder. In
// the test servers of the copy it replaces the package that starts kube-apiserver by package process of this folder,
// which starts a program with the same options. The tests themselves do not change. Each top-level test runs in a
// process of its own, which starts an etcd.
//
// With -server kube-apiserver the program is a real kube-apiserver. Tests that fail then cannot pass with any server in
// another process; with -server in-process the module is compiled as it is, to see that they pass upstream.
// results.txt has the results with the program, which -update renews. The tests that fail with crd-server are in
// excused.txt, each with the reason.
//
// At the end the command prints a table, and the tests that fail without an excuse. If there is one, the exit code is
// 1. With -update it writes the table to docs/conformance.md.
//
// Begin with main.go. packages.go lists the packages; compile.go compiles them; run.go runs a test; baseline.go and
// excuses.go read the two files; report.go compares. The folder module has the versions of Kubernetes' dependencies.
package main
