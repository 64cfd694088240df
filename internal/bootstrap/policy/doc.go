// Package policy has the default roles and bindings: cluster-admin, admin, edit, view, and those that let users find
// out about the server and about themselves. Their names, rules and labels are kube-apiserver's.
//
// Begin with policy.go. essential.yaml has the objects of every server, and cluster.yaml those that only a server with
// all kinds of Kubernetes has: of nodes, the scheduler, and further controllers. reconcile.go keeps the stored objects.
//
// The rules of admin, edit and view name all kinds that they name in kube-apiserver, such as pods, although the server
// has few of them. So a user has the same rights here and there, and a role that is moved from a cluster can be created
// by its admin. Custom resources are not among them: a ClusterRole with a label such as
// rbac.authorization.k8s.io/aggregate-to-view adds them.
package policy
