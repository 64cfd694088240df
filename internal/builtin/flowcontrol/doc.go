// Package flowcontrol has the rules of flowcontrol.apiserver.k8s.io. The objects have no effect: the server shares its
// capacity between users without them.
//
// Their specs are not checked.
//
// Begin at definitions.go.
package flowcontrol
