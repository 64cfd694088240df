// Package openapi makes the OpenAPI descriptions of resources, in version 2 and version 3 of OpenAPI.
//
// A document has sections, one for each CRD (in version 2) or for each CRD in one of its versions (in version 3), and a static part
// with the definitions that all sections refer to. A section depends on its CRD alone, so a change to a CRD changes one
// section, and a document is written section by section. Sections say, down to the names of operations and definitions, what
// apiextensions-apiserver's OpenAPI builder says; tests compare the two. That builder, and the handlers of kube-openapi that serve its
// documents, are not used because they build and merge whole documents: for 2,065 CRDs that takes 17 s and gigabytes.
//
// Begin with section.go. operation.go has the operations of a resource, paths2.go and paths3.go describe them in the two
// versions, and template.go does so once for all resources that differ in names only; schema.go turns a structural schema into a
// definition; static.go has what does not come from CRDs.
package openapi
