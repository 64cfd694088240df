// Package objectmeta has the rules for the metadata of objects, which are the same for all kinds: names,
// namespaces and the fields that the server sets (objectmeta.go), owner references (owners.go), and the marks of a
// deletion (deletion.go).
package objectmeta
