// Package rbac has the rules for the kinds of rbac.authorization.k8s.io/v1: which objects are valid, which fields an
// update cannot change, and which columns are printed. The rules and messages are kube-apiserver's.
//
// Begin at definitions.go, which has the rows of the table.
package rbac
