// Package openapi describes resources in OpenAPI version 2 and version 3.
//
// A document consists of a static part and of sections: one section for each CRD in version 2, one for each CRD and
// version in version 3. A section depends on its CRD alone, so a change to a CRD changes one section. Sections equal
// the output of apiextensions-apiserver's OpenAPI builder; tests compare the two. The builder itself does not run for
// each CRD, because it builds whole documents: for 2,065 CRDs that takes 17 s and gigabytes. It runs once for a sample
// resource of each shape, and its output becomes a template for all resources of that shape.
//
// Begin with section.go. template.go fills templates from the builder, resource.go has the names that go into them,
// schema.go turns a structural schema into a definition, and static.go has the documents that do not depend on CRDs.
package openapi
