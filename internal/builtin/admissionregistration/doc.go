// Package admissionregistration has the rules for the kinds of admissionregistration.k8s.io/v1: configurations of
// webhooks, policies and their bindings.
//
// Begin at definitions.go, which has the rows of the table.
package admissionregistration
