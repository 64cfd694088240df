// Package dynamicstorage keeps objects of any number of resources in etcd, and what is read of them in memory. It knows
// no Kubernetes type: keys, bytes and revisions. How to read a header, make a view, or transform bytes for
// encryption are functions given to it.
//
// Begin at store.go: a Store is one etcd prefix, and a Resource (resource.go) a folder below it. Then follow an
// event. feed.go holds the one watch over the whole prefix; resource.go takes a resource's share of what it brings
// into the ordered index of cache.go and the ring of recent events of ring.go; watcher.go reads the ring, each
// watcher at its own pace. It is woken for events that it wants (place.go), with several of them when there are many (wake.go). load.go fills the cache when a resource is first read, and reconciles it when etcd has
// compacted what the feed still needed. replay.go reads events from etcd that are older than the ring.
//
// Reads are in read.go: they first make sure that the cache is as new as was asked for (revision.go), then answer from it,
// or from a snapshot.go: an older state that is still at hand, or else etcd at that revision. select.go reads what has a label or
// field, by an index.go that is made when it is first asked for (indexes.go). Writes are in
// write.go: transactions guarded by the revision that was modified.
//
// Objects are Entries (entry.go), immutable and shared by all readers. What versions serve of them are
// Views (view.go), made once and kept beside the entry. housekeeping.go gives memory back that nobody uses;
// compact.go compacts an etcd that does not do so itself. check.go compares memory with etcd; stats.go has figures for metrics.
//
// Goroutines: the caller's that runs Store.Run is the feed. Besides it there are, for as long as they have work, one that
// asks etcd for its revision (revision.go), one that keeps house, and one for each resource being loaded (load.go). All end with Run.
package dynamicstorage
