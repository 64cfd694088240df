// Package allocator gives Services their cluster IPs and node ports, as kube-apiserver does. Begin with Services.
//
// A cluster IP is taken by the creation of an IPAddress of its name, so no address is given twice, however many
// replicas there are. Node ports are compared with those of all Services, by one write at a time: two replicas that
// write at the same moment may give the same one.
package allocator
