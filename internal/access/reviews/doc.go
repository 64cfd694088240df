// Package reviews serves reviews: who am I (SelfSubjectReview), what may I do (SelfSubjectAccessReview,
// SelfSubjectRulesReview), and what may another user do (SubjectAccessReview, LocalSubjectAccessReview). kubectl auth
// can-i and kubectl auth whoami use them.
//
// Reviews are not stored: the response is the posted review with a status. The authorizer of requests decides. Begin
// with New.
package reviews
