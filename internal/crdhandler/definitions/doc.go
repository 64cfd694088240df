// Package definitions has the rules that are particular to CustomResourceDefinitions as objects: how they are stored
// and served (codec.go), validated (strategy.go), bounded (limits.go) and kept while they have objects (protection.go).
// crdhandler serves them with the same verbs as custom resources.
//
// Begin at codec.go.
package definitions
