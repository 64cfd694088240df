// Package aggregation keeps the rules of ClusterRoles with an aggregationRule: they are those of all ClusterRoles that
// the selectors of the rule match. It does what the controller of the same name in kube-controller-manager does.
//
// Begin with Controller. Rules computes the rules.
package aggregation
