// Package authorization says what a user may do.
//
// What holds for everybody comes first: the group system:masters may do everything, anybody may ask for health, and
// authenticated users may discover, as Kubernetes' ClusterRole system:discovery lets them. Then webhooks are asked, by flags or by a
// configuration file that may change, and then a host cluster. Nothing else is allowed: there are no roles here.
//
// The authorizers are those of k8s.io/apiserver, under kube-apiserver's flags. Begin with New.
package authorization
