// Package crdhandler serves custom resources, the CustomResourceDefinitions that define them, and built-in resources
// over HTTP as kube-apiserver does.
//
// Begin at handler.go: crdHandler takes every request below /apis and /api/v1. It finds the endpoints of a built-in
// resource (builtin.go), or the CRD in the table of served resources and, in info.go, the crdInfo that holds request
// scopes for each of its versions. A verb is a method of requestScope in the file of its name (get.go, list.go,
// watch.go, create.go, update.go, patch.go, delete.go, deletecollection.go).
//
// Verbs go on in packages below this one. Reads: selection reads which objects a request is about, listing reads and
// writes lists, printing negotiates formats and makes Tables and metadata, watch serves one watch. Writes: package
// write has the steps that all have in common. They know objects as package stored describes them, whose Objects are
// the way to etcd. customresource.go makes the endpoints of custom resources of the parts in package customresources,
// definition.go those of CustomResourceDefinitions, builtin.go those of built-in resources. The verbs know none of
// these.
//
// Compiled schemas (package schemas) share one memory budget for all CRDs, which may evict them at any time. A request
// continues with the schemas it has; the next one compiles them again. So nothing that lives longer than a request may
// hold them.
package crdhandler
