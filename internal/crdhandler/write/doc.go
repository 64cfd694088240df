// Package write has the steps that all writes of objects have in common. A write is read from top to bottom in the file
// of its verb (create.go, update.go, patch.go, delete.go in crdhandler):
//
//	decode    options and body of the request
//	build     the new object: the one that was sent, or the stored one with the patch in it; and its managed fields
//	admit     mutating admission
//	validate  what is shared with others (allocator), the rules of the endpoint (strategy), validating admission, quotas
//	commit    encode the object, and store it in a transaction guarded by the revision of the object it was built from
//	respond   with the stored object
//
// POST goes through the steps once (Creation.Insert). All other writes call Retry with a function that builds, admits
// and validates the object. Retry calls it with the stored object, commits what it proposes, and starts again when
// another write was faster.
//
// Begin at retry.go. replacement.go admits and validates what a PUT or PATCH has built, creation.go a new object;
// rules.go applies the strategy, admission.go asks admission.
package write
