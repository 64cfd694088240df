// Package validation holds what one CustomResourceDefinition says about its objects: how they are coerced to the
// schema, defaulted, prepared for a write, validated, and merged by managed fields.
//
// It is pure: no clock, no storage, no goroutine. The decisions are those of the libraries that kube-apiserver itself
// composes (structural schemas, pruning, defaulting, list types, CEL), in the order in which it composes them.
//
// Begin at [New]: it makes a [Set] for a CRD, which compiles nothing. Each part of a [Version] is compiled when it is first
// needed, on its own: a read needs the structural schema only, never a validator or a CEL program.
//
//   - set.go, version.go: the two types, and what can be told without compiling anything
//   - structural.go, trim.go, validators.go: the compiled parts of the libraries
//   - node.go, kinds.go, check.go, logic.go, clean.go, unique.go: the same schema compiled to see quickly that a value needs
//     nothing of the libraries: no error, nothing to prune, no item twice. They may say no without need, but never yes,
//     which fuzz targets hold against the libraries; errors are always those of the libraries.
//   - source.go, weight.go: the CRD whose schemas are decoded when a part is compiled, and what the parts weigh, for a
//     memory budget
//   - coerce.go, meta.go, canonical.go, default.go: decoding
//   - prepare.go, validate.go, schema.go, faults.go, ratchet.go, narrow.go, typemeta.go, objectmeta.go, scale.go, finalizers.go: the rules
//     for writes
//   - selectable.go: declared selectable fields
//   - typeconverter.go, models.go: types for managed fields
package validation
