// Package serviceaccounts has what service accounts need of the store: it reads the objects that tokens are bound to,
// and gives each namespace its account "default" and the ConfigMap "kube-root-ca.crt", as kube-controller-manager does.
//
// Begin at controller.go. Package access/serviceaccounts issues and verifies the tokens.
package serviceaccounts
