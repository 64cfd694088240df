// Package devices has the rules of resource.k8s.io, the API of dynamic resource allocation: classes, claims and slices
// of devices. Nothing here allocates: the scheduler does.
//
// The rules are the declarative ones of k8s.io/api, which declarative.go calls. What kube-apiserver checks beside them
// is left out, except for what users may write of claims (access.go).
//
// Begin at definitions.go.
package devices
