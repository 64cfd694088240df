// Package network has the kinds of Kubernetes' network: Services, Endpoints and EndpointSlices, Ingresses,
// NetworkPolicies, and the objects that record cluster IPs. Begin with Definitions; each kind has a file of its own.
//
// The rules of Services and Ingresses follow kube-apiserver's validation. Those of the other kinds are few. Package
// allocator gives cluster IPs and node ports, because they depend on other objects.
package network
