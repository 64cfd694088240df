// Package crds provides the CustomResourceDefinitions that are stored in etcd to the rest of the server.
//
// Begin at [Table] in table.go: it answers which CRDs exist and which belong to a group, without locks. Run is the
// informer (informer.go). WaitFor blocks until the table holds a revision of a CRD, so that a CRD is usable when its
// create request returns. The table holds a Record (record.go) for every CRD: an immutable summary with a pointer to
// the stored entry, from which schemas are decoded when they are needed.
//
// CRDs are stored in upstream's form (definition.go, encode.go). decode.go and stored.go decode a CRD without its
// schemas, which are most of its bytes, and replace its status. stored.go also remembers the values that this process
// has written recently.
package crds
