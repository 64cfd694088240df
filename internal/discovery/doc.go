// Package discovery serves the endpoints with which clients find out what a server serves: /api, /apis, /apis/{group},
// /apis/{group}/{version}, and the OpenAPI documents, whose contents package openapi below makes.
//
// Everything is computed on demand from the table of CRDs. Lists of all groups are kept in a snapshot until a CRD
// changes (snapshot.go); the sections of OpenAPI documents are kept for each CRD (section.go). A change only drops
// these results. The group apiextensions.k8s.io is always there. Built-in groups come first, in the order of
// kube-apiserver.
//
// Begin with discovery.go; serve.go has the handlers, group.go what is shown of one group, openapi.go the documents.
package discovery
