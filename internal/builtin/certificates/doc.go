// Package certificates has the rules of certificates.k8s.io: certificate signing requests, bundles of trusted
// authorities and the requests of pods. It signs nothing: a controller does.
//
// Begin at definitions.go.
package certificates
