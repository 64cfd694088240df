// Package users knows the people whom `crd-server user add` has given client certificates, and refuses those who were
// removed.
//
// Each user has a record: a Secret in kube-system, so all replicas share it. Begin at Record, which says which
// certificates are valid; Removed applies the records to requests. Package internal/server/credentials writes them.
package users
