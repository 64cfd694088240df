// Package serviceaccounts issues, verifies and publishes tokens of service accounts, as kube-apiserver does: signed
// JWTs (KEP-1205) that are bound to the account and optionally to another object (KEP-2799, KEP-4193), and the
// documents by which others verify them (KEP-1393). It also verifies the tokens in Secrets that kube-controller-manager
// makes.
//
// Begin at issuer.go. request.go issues tokens, verify.go and legacy.go verify them, discovery.go publishes the keys.
package serviceaccounts
