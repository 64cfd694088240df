// Package reviews answers what a user asks about users: who am I (SelfSubjectReview), what may I do
// (SelfSubjectAccessReview, SelfSubjectRulesReview), and what may somebody else do (SubjectAccessReview,
// LocalSubjectAccessReview). kubectl auth can-i and kubectl auth whoami ask so.
//
// Nothing is stored: a review is posted and comes back with its status. It is answered by the same authorizer that decides about
// requests. Begin with New.
package reviews
