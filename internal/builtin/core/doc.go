// Package core has the rules for the kinds of core/v1 that the server has: which objects are valid, which fields a
// write cannot change, and which columns are printed. The rules and messages are kube-apiserver's.
//
// A file has the rules of one kind. configmap.go has those that Secrets share.
package core
