// Package schemas has the OpenAPI definitions of built-in kinds. make generate makes them with kube-openapi's generator
// from the types that types.txt lists, and writes definitions.zip, which has one file for each Go package.
//
// Nothing is decompressed before its first use, and nothing is kept: callers keep the results.
//
// Begin with definitions.go; archive.go reads the archive, types.go makes type converters for managed fields.
package schemas
