// Package network has the kinds of Kubernetes' network: Services, Endpoints and EndpointSlices, Ingresses,
// NetworkPolicies, and the objects that record cluster IPs. Begin with Definitions; each kind has a file of its own.
//
// The rules follow kube-apiserver's validation of the kinds. Cluster IPs and node ports are not given here but by
// package serviceips, because they depend on other objects.
package network
