// Package objectjson encodes and decodes the JSON of unstructured objects (maps, slices, strings, numbers).
//
// [Marshal] returns the bytes that encoding/json returns, without reflection. [MarshalObject] does so for an object
// and leaves its resourceVersion out: etcd assigns that when it stores the object, so the server inserts it when it
// writes the object to a client. [Template] is JSON with several such holes. [UnmarshalYAML] decodes the YAML of a
// patch that is JSON without a YAML parser. [CheckJSON], [CheckYAML] and [CheckValue] limit what is decoded
// (limits.go).
//
// The build tag library replaces the encoder (encoder.go) and UnmarshalYAML by implementations that only call libraries
// (library.go). All tests pass with either.
//
// Begin with object.go.
package objectjson
