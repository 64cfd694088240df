// Command suites runs the envtest suites of other projects, unmodified, against kube-apiserver and against the built
// crd-server, and compares them: every test that passes with kube-apiserver must pass with crd-server.
//
// It copies the projects from their Go modules, compiles their test packages there, and runs each test binary with
// KUBEBUILDER_ASSETS naming the folder of one server's programs, then of the other's. Nothing else differs between the
// two runs. It measures how long a binary runs and how much memory the server's processes have. At the end it prints a
// table and the tests that only kube-apiserver passes. If there is one, the exit code is 1.
//
// Begin with main.go. suites.go lists the projects; compile.go and kubebuilder.go prepare them; servers.go makes the
// folders of programs; run.go runs a binary; ginkgo.go and gotest.go read what it reports; compare.go and report.go
// compare the results and print them.
package main
