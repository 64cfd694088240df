// Package rbac decides by the stored roles and bindings of rbac.authorization.k8s.io, as kube-apiserver's RBAC
// authorizer does.
//
// Begin with index.go. An Index observes the stored objects and keeps them by subject: a user, a group or a service
// account has the list of the bindings that name it (binding.go, shards.go). A role is kept once (role.go), and
// compiled at its first use, so that a decision about one role is a lookup (rules.go). objects.go makes them of stored
// values.
//
// Reads take no lock. They begin with one immutable state. A change copies the few lists that it changes and publishes
// a new state.
//
// decide.go looks at each of a user's bindings, which are a handful. For users with many groups or bindings,
// merged.go compiles the rules of all their roles into one set, which is kept until the next change.
//
// An Authorizer (authorizer.go) answers requests by an Index. resolve.go lists the rules of a user.
package rbac
