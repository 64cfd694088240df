// Package podspec has the rules of the specification of pods: its defaults, which specifications are valid, and what a
// client is warned about. Pods have one, and so have the templates of workloads.
//
// Begin with default.go, default.yaml and check.go. The rules, paths and messages are kube-apiserver's. docs/builtin.md
// lists what is not checked.
package podspec
