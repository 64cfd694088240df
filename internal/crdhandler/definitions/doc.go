// Package definitions has the rules that are particular to CustomResourceDefinitions as objects: how they are stored
// and served (codec.go), validated (strategy.go), deleted (deletion.go), how their fields are managed
// (managedfields.go), and which names and verbs they have (resource.go). crdhandler serves them with the same verbs as
// custom resources.
//
// Begin at codec.go.
package definitions
