// Package objectmeta has the rules for the metadata of objects, which are the same for all kinds: names and namespaces
// (names.go), the fields that the server sets (systemfields.go), owner references (owners.go), and the marks of a
// deletion (deletion.go).
package objectmeta
