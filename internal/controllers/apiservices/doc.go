// Package apiservices registers the served groups with the aggregator of a kube-apiserver. The host cluster gets one
// APIService for every served group and version of a CustomResourceDefinition, which sends requests to the Service in
// front of this server and its replicas.
//
// A Registrar is a controller: it reconciles the groups and versions that have changed, here or in the host cluster.
// Replicas need no leader, because all of them want the same. An APIService without the labels of this installation
// is never changed and never deleted, even if its name is wanted.
//
// Begin with Registrar.Run.
package apiservices
