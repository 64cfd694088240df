package dynamicstorage

import "sync/atomic"

// counts are the counters of a resource, since its store was made.
type counts struct {
	received                         atomic.Int64
	loads, reloads, failedLoads      atomic.Int64
	inMemory, passedOn               atomic.Int64
	lists, storedLists               atomic.Int64
	consistent, different, unchecked atomic.Int64
}

// madeViews counts the views made by the viewers of all stores.
var madeViews atomic.Int64

// Stats are figures of a store, for metrics. The counters count since the store was made.
type Stats struct {
	// Revision is that of the feed.
	Revision int64
	// Connected reports whether the feed follows etcd. Breaks counts the watches that it has lost.
	Connected bool
	Breaks    int64
	// UnreadEvents counts the events of resources that were not in memory.
	UnreadEvents int64
	// Compactions counts the compactions of etcd by this store.
	Compactions int64
	// ViewsMade counts the views made by the viewers of all stores of the process.
	ViewsMade int64
	// Resources are those in memory.
	Resources []ResourceStats
}

// ResourceStats are figures of a resource in memory.
type ResourceStats struct {
	// Resource is the folder, such as "<group>/<plural>".
	Resource string
	// Revision is the revision of the cache.
	Revision int64
	Entries  int
	// Bytes estimates the memory of the entries, EventBytes that of replaced entries which recent events hold.
	Bytes, EventBytes int64
	// Indexes is the number of indexes of labels and fields, IndexBytes estimates their memory.
	Indexes    int
	IndexBytes int64
	// Events is the number of events in the ring, EventCapacity the bound.
	Events, EventCapacity int
	Watchers              int

	// Received counts the events of the feed.
	Received int64
	// Loads counts the loads that succeeded, Reloads how often the state was dropped because events had been lost.
	Loads, Reloads, FailedLoads int64
	// ReadsInMemory counts the consistent reads that the cache has answered, ReadsPassedOn those that went to etcd
	// because the feed was behind.
	ReadsInMemory, ReadsPassedOn int64
	// Lists counts the snapshots from memory, StoredLists those that are read from etcd.
	Lists, StoredLists int64
	// Consistent, Different and Unchecked count the comparisons with etcd (see Resource.Check) by their results.
	Consistent, Different, Unchecked int64
}

// Stats returns the figures of the store.
func (s *Store) Stats() Stats {
	stats := Stats{
		Revision:     s.feed.current(),
		Connected:    s.feed.inSync.Load() != nil,
		Breaks:       s.feed.breaks.Load(),
		UnreadEvents: s.feed.ignored.Load(),
		Compactions:  s.compactions.Load(),
		ViewsMade:    madeViews.Load(),
	}
	for _, r := range s.all() {
		if rs, warm := r.stats(); warm {
			stats.Resources = append(stats.Resources, rs)
		}
	}
	return stats
}

// Size returns the number of objects of a folder's resource and estimates their bytes. Both are 0 if nothing has asked
// for the resource yet, and -1 if it is not in memory.
func (s *Store) Size(folder string) (objects int, bytes int64) {
	s.mu.RLock()
	r := s.resources[folder]
	s.mu.RUnlock()
	if r == nil {
		return 0, 0
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.cache == nil {
		return -1, -1
	}
	return r.cache.entries.Len(), r.cache.bytes
}

// stats reports false if the resource is not in memory.
func (r *Resource) stats() (ResourceStats, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	c := &r.counts
	if r.cache == nil {
		return ResourceStats{}, false
	}
	return ResourceStats{
		Resource:      r.name,
		Revision:      r.revisionLocked(),
		Entries:       r.cache.entries.Len(),
		Bytes:         r.cache.bytes,
		EventBytes:    r.ring.bytes,
		Indexes:       len(r.cache.indexes),
		IndexBytes:    r.cache.indexBytes(),
		Events:        r.ring.len(),
		EventCapacity: r.store.options.RingEvents,
		Watchers:      r.watchers,

		Received:      c.received.Load(),
		Loads:         c.loads.Load(),
		Reloads:       c.reloads.Load(),
		FailedLoads:   c.failedLoads.Load(),
		ReadsInMemory: c.inMemory.Load(),
		ReadsPassedOn: c.passedOn.Load(),
		Lists:         c.lists.Load(),
		StoredLists:   c.storedLists.Load(),
		Consistent:    c.consistent.Load(),
		Different:     c.different.Load(),
		Unchecked:     c.unchecked.Load(),
	}, true
}
