// Package authentication says who a request is from: by client certificate, by the headers of a front proxy (an
// aggregator), by token (from a file, of OpenID Connect issuers, or asked of a webhook or a host cluster), or nobody.
//
// The methods are those of k8s.io/apiserver, put together in kube-apiserver's order, under its flags. What is ours is that
// verified certificates are remembered (certificates.go), for verifying a chain costs as much as a whole read.
//
// Begin with New; Options are its flags.
package authentication
