// Package serverendpoints keeps the Service default/kubernetes, and its Endpoints and EndpointSlice, which have the
// addresses of the servers that run, as kube-apiserver does.
//
// Begin with Controller. Replicas on one etcd find each other by leases in etcd (leases.go), in the format of
// kube-apiserver.
package serverendpoints
