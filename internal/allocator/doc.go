// Package allocator gives Services their cluster IPs and node ports, as kube-apiserver does. Begin with Services.
//
// The allocator claims an item, an address or a port, by creating an entry of its name: an IPAddress, or an entry for
// the port. So no item is given twice, however many replicas there are.
//
// A claim and its Service are two entries, and a server may be killed between their writes, or not learn whether the
// second one was carried out. Two conditions keep them consistent. The transaction that stores a Service fails if one
// of its new claims is gone. The transaction that removes a claim fails if the Service has changed since the allocator
// has seen that it does not have the item. So it is always safe to look again: claim.agree does so after every write
// that has failed or has given something up, and for all claims and Services when a server starts.
package allocator
