// Package aggregation computes the rules of ClusterRoles with an aggregationRule: they are those of all ClusterRoles
// that the selectors of the rule match.
package aggregation
