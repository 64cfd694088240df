// Package openapi makes the OpenAPI descriptions of resources, in version 2 and version 3 of OpenAPI.
//
// A document is made of parts: one for each CRD (in version 2) or for each CRD in one of its versions (in version 3), and
// a fixed beginning with what all parts refer to. Parts know nothing of each other, so that a change to one CRD changes
// one part, and a document can be written part by part. What a part says, down to names of operations and
// definitions, is what apiextensions-apiserver's OpenAPI builder says; tests compare the two.
//
// Begin with part.go. operation.go lists what can be done with a resource, paths2.go and paths3.go say it in the two
// versions, and form.go once for all resources that are alike; schema.go turns a structural schema into a definition;
// static.go is about what does not come from CRDs.
package openapi
