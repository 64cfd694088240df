// Package credentials gives people and programs access to a running server: kubeconfigs with client certificates, which
// the authority in the server's data directory signs, or with tokens of service accounts. It is the client side of
// `crd-server user`; package users is the side of the server.
//
// Begin at Open, then Manager.Add.
package credentials
