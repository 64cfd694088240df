// Package authentication finds the user of a request: by client certificate, by the headers of a front proxy (an
// aggregator), by token (from a file, of OpenID Connect issuers, or reviewed by a webhook or a host cluster), or as
// anonymous.
//
// The authenticators are those of k8s.io/apiserver, in kube-apiserver's order and with its flags. Our addition is a
// cache of verified certificates (certificates.go), because verifying a chain costs as much as a whole read.
//
// Begin with New; Options has the flags.
package authentication
