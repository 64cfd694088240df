// Package certs makes, keeps and reloads the server's certificates: the generated authority, serving certificate and
// admin client certificate, and the files that flags name instead. It also writes the admin kubeconfig.
//
// Begin with NewIdentity (which files there are), then NewTLS (how they are served, and reloaded when they change).
package certs
