// Package validation applies the schemas of one CustomResourceDefinition to custom resources: it coerces, defaults,
// prepares for storage and validates them, and types them for managed fields. It calls the libraries that
// kube-apiserver composes (structural schemas, pruning, defaulting, list types, CEL) in the same order. It has no
// clock, no storage and no goroutines.
//
// Begin at [New] in set.go, which returns the [Set] of a CRD, then read version.go. Creating a Set compiles nothing:
// compile.go compiles each part of a [Version] on first use, so reading objects never compiles CEL rules.
//
//   - Decoding an object: coerce.go, default.go.
//   - Writing an object: prepare.go; then validate.go, which calls objectmeta.go and scale.go.
//   - Selectors: selectable.go. Managed fields: typeconverter.go, models.go.
//   - Memory: statistics.go.
//
// The schema itself is applied by an objectSchema (library_schema.go), of which there are two implementations.
// librarySchema only calls libraries. fast_schema.go recognises valid objects by a compiled form of the schema and
// calls the former for all others; the compiled form is in the files fast_*.go, beginning at fast_node.go. To use the
// libraries only, build with the tag library.
package validation
