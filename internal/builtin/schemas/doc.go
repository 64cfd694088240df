// Package schemas has the OpenAPI definitions of built-in kinds.
package schemas
