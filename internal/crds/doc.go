// Package crds keeps what the server knows of its CustomResourceDefinitions.
//
// A CRD is stored as upstream stores it (definition.go: DecodeDefinition; encode.go: EncodeDefinition; parts.go: with other forms at once). Most of its bytes are
// schemas, which are seldom asked for: Open (stored.go) reads the rest, and puts another status into the bytes. What
// this process has written itself it remembers for a while (known.go), so that it need not be read again. An in-process
// informer (informer.go) reads the stored bytes straight from dynamicstorage, without HTTP, and hands over one
// slim, immutable Record each (record.go): names, scope, versions, flags, and a pointer to the stored entry, from
// which the typed object is decoded when something needs its schemas.
//
// The Table (table.go) is what the rest of the server asks: which CRDs are there, which belong to a group. Reading
// it takes no lock. WaitFor is the barrier behind "a CRD is usable when its create has returned": it blocks until
// the table shows a revision, and it does not poll.
//
// Begin with table.go.
package crds
