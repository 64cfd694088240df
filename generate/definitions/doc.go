// Package definitions has the output of openapi-gen, which is not kept in git.
package definitions
