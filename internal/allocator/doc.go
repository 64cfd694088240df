// Package allocator gives Services their cluster IPs and node ports, as kube-apiserver does. Begin with Services.
//
// The allocator takes a cluster IP by creating an IPAddress of its name, so no address is given twice, however many
// replicas there are. It compares node ports with those of all Services. A replica does that for one write at a time,
// but two replicas that write at the same moment may give the same port.
package allocator
