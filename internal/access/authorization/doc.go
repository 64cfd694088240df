// Package authorization decides what a user may do.
//
// The group system:masters may do everything, and health checks are open to everybody. Then come the authorizers of
// flags or of a configuration file, in their order: roles and bindings (package rbac below this one), webhooks, and a
// host cluster at the end. Everything else is forbidden.
//
// A server that does not use roles has built-in rules instead of Kubernetes' default roles: authenticated users may use
// discovery and review themselves, and the group system:monitoring may read metrics (builtin.go).
//
// Package escalation below this one limits which roles and bindings a user may write. All but these two packages are
// the authorizers of k8s.io/apiserver, with kube-apiserver's flags. Begin with New.
package authorization
