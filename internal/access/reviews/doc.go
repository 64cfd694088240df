// Package reviews serves reviews: who am I (SelfSubjectReview), what may I do (SelfSubjectAccessReview,
// SelfSubjectRulesReview), what may another user do (SubjectAccessReview, LocalSubjectAccessReview), and whose token is
// this (TokenReview). kubectl auth can-i and kubectl auth whoami use them; so do servers that leave the decisions about
// their requests to this one.
//
// Reviews are not stored: the response is the posted review with a status. The authorizer and the authenticators of
// requests decide. Begin with New.
package reviews
