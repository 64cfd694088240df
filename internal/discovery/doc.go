// Package discovery tells clients what the server serves: /api, /apis, /apis/{group}, /apis/{group}/{version}, and the
// OpenAPI documents (whose contents package openapi below makes).
//
// Everything is computed when somebody asks, from the table of CRDs, and kept per group until a CRD of that group
// changes: a change costs nothing but forgetting, and n CRDs installed one by one cost n such steps. A large group is then made of the one
// before, with which it shares all that has not changed (change.go, share.go). The group apiextensions.k8s.io is always there; it stands
// first.
//
// Forgetting is done by replacing the place where a result is kept, never by clearing it: a reader that was still
// computing from older CRDs can then only fill a place that nobody looks at any more.
//
// Begin with discovery.go; group.go is what is known of one group, list.go of all of them, item.go what the aggregated list has of
// one, openapi.go the documents.
package discovery
