// Package roleaggregation keeps the rules of ClusterRoles with an aggregationRule: they are those of all ClusterRoles
// that the selectors of the rule match. It does what the controller clusterrole-aggregation of kube-controller-manager
// does. builtin/rbac computes the rules.
package roleaggregation
