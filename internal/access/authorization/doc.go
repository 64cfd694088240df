// Package authorization decides what a user may do.
//
// Built-in rules come first: the group system:masters may do everything, health checks are open to everybody,
// authenticated users may use discovery, and the group system:monitoring may read metrics, as with Kubernetes'
// ClusterRoles system:discovery and system:monitoring. Then come the webhooks of flags or of a configuration file, and
// then a host cluster. Everything else is forbidden: this server has no roles.
//
// The authorizers are those of k8s.io/apiserver, with kube-apiserver's flags. Begin with New.
package authorization
