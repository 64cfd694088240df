// Package schemas holds what the server compiles from the schemas of CRDs: validation, conversion and printer columns.
// Begin at Compiled. A Cache bounds the memory of all of them.
package schemas
