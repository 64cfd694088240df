// Package wire holds what is byte-level about answers and requests: objects with their resourceVersion spliced in,
// lists written item by item, watch frames, indentation, compression and the bounded reading of bodies. It
// knows JSON only as bytes; nothing here decodes an object.
//
// Begin at object.go; list.go and event.go put objects into lists and watch streams, response.go sends them, gzip.go
// compressed: of texts that may have been compressed before (deflated.go), so that nobody compresses them twice.
package wire
