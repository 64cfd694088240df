// Package wire handles requests and responses as bytes: objects with their resourceVersion inserted, lists written
// item by item, watch frames, indentation, compression and the bounded reading of bodies. It does not decode objects.
//
// Begin with object.go. list.go and event.go put objects into lists and watch frames, protobuf.go does both for objects
// in protobuf. response.go sends bodies, gzip.go sends compressed ones, some of whose texts were compressed in advance
// (deflated.go). codecs.go has the serializers of typed objects.
package wire
