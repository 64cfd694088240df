// Package devices has the rules of resource.k8s.io, the API of dynamic resource allocation: classes, claims and slices
// of devices. Nothing here allocates: the scheduler does.
//
// The declarative rules are those of k8s.io/api, which declarative.go calls. The other files have the rest.
//
// Begin at definitions.go.
package devices
