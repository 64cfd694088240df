// Package apiservices registers what this server serves with a kube-apiserver's aggregator: in the host cluster there
// is one APIService for every served group and version of a CustomResourceDefinition here, which sends its requests to
// the Service in front of this server and its replicas.
//
// A Registrar works as controllers do: it is told of groups and versions that may have changed, here or in the host
// cluster, and makes each as it should be. All replicas do so without a leader, for they all want the same. An APIService
// that is not labelled as this installation's is never changed and never deleted, even if it has the name of one
// that is wanted.
//
// Begin with Registrar.Run.
package apiservices
