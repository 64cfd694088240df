// Package coordination has the rules for the kinds of coordination.k8s.io/v1: which objects are valid, and which
// columns are printed. The rules and messages are kube-apiserver's.
package coordination
