// Package clusterapi runs Cluster API as it is released against the server: its custom resources, its roles, its
// webhook configurations as objects, and its manager as a process, which serves webhooks of admission and of
// conversion. Their certificates and authority are replaced while clients write and read.
//
// Begin at clusterapi_test.go. The test needs the flag -cluster-api (make test-clusterapi), because the manager takes
// minutes to compile. Its modules are in manager/, with Cluster API's own versions of Kubernetes' libraries. The flag
// -upstream runs the same against kube-apiserver.
package clusterapi
