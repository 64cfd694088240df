// Package dynamicstorage stores the objects of any number of resources in etcd and caches those that are read. It
// knows keys, bytes and revisions, but no Kubernetes types: the caller passes functions that read headers, make
// views, and encrypt.
//
// Begin with store.go: a Store is a prefix in etcd, and a Resource (resource.go) a folder below it. Then follow an
// event:
//
//   - feed.go watches the whole prefix, with one watch on a stream of its own (feedwatch.go), and hands
//     events to their resources. progress.go asks etcd how far that watch is. history.go finds out
//     whether etcd was restored from a backup, and outage.go knows whether it answers, and
//     sends it the requests of reads and writes.
//   - resource.go applies them to the ordered entries of cache.go and to the recent events of ring.go.
//   - scope.go finds the watchers that watch the key: of all objects, of a namespace, of an object.
//   - delivery.go wakes them, at a limited rate under load.
//   - watcher.go reads the ring, each watcher at its own pace. A watcher is active, idle, queued, or ready.
//   - load.go fills the cache at the first read, and drops it after etcd has compacted events that the feed had not
//     received, or was restored. replay.go reads events from etcd that are older than the ring.
//
// A controller follows a resource in memory (follow.go): it gets the entries, and then every event. A caller that needs
// every event of all resources, or of some without their memory, observes the feed (observe.go).
//
// Reads (read.go) wait until the cache is new enough (revision.go). They return the present state, or a snapshot.go
// of an older one from memory or etcd. Its Select reads the objects with a label through an index.go, which
// it builds on demand (indexes.go).
//
// Writes (update.go) are transactions that are guarded by the revision that was read (write.go). Updates of one key
// that conflict queue (updatequeue.go). pending.go recognizes the event of a write of this process. lease.go lets
// entries expire.
//
// Objects are Entries (entry.go), immutable and shared by all readers. Views (view.go) are the forms that versions
// serve; they are cached in the entry. janitor.go frees unused memory. compact.go compacts etcd, and finds
// out which revision was compacted. check.go compares the cache with etcd. stats.go has figures for metrics.
//
// Goroutines: the caller of Store.Run runs the feed. Run also starts the janitor, the goroutine that asks for the
// compacted revision, and, while they have work, one goroutine that asks etcd for its revision (revision.go) and one
// for each resource that is being loaded (load.go). All end with Run.
package dynamicstorage
