package dynamicstorage

// Stats are figures of a store, for metrics. Those called ...s in the past (received, made) count since the store was made.
type Stats struct {
	// Revision is that of the feed.
	Revision int64
	// Connected: the feed has a watch. Breaks is how often it has lost one.
	Connected bool
	Breaks    int64
	// UnreadEvents is the number of events of resources that are not in memory.
	UnreadEvents int64
	// Compactions is the number of compactions of etcd that this store has done.
	Compactions int64
	// ViewsMade is the number of views made, by the viewers of all stores of the process.
	ViewsMade int64
	// Resources are those in memory.
	Resources []ResourceStats
}

// ResourceStats are figures of a resource in memory.
type ResourceStats struct {
	// Resource is "<group>/<plural>".
	Resource string
	// Revision is that of the state in memory.
	Revision int64
	Entries  int
	// Bytes is about the memory of the entries, EventBytes that of replaced ones that recent events hold.
	Bytes, EventBytes int64
	// Indexes are those of labels and fields, IndexBytes about their memory.
	Indexes    int
	IndexBytes int64
	// Events are the recent events at hand, of at most EventCapacity.
	Events, EventCapacity int
	Watchers              int

	// Received are events of the feed.
	Received int64
	// Loads have brought the resource into memory; of these, Reloads did so because events had been lost. FailedLoads have not.
	Loads, Reloads, FailedLoads int64
	// ReadsInMemory are consistent reads that memory has answered, ReadsPassedOn those that went to etcd because the feed was behind.
	ReadsInMemory, ReadsPassedOn int64
	// Lists are states that were asked for and found in memory, StoredLists those that are read from etcd.
	Lists, StoredLists int64
	// Consistent, Different and Unchecked are comparisons with etcd (see Resource.Check) by what they found.
	Consistent, Different, Unchecked int64
}

// Stats returns the figures of the store.
func (s *Store) Stats() Stats {
	stats := Stats{
		Revision:     s.feed.current(),
		Connected:    s.feed.up.Load(),
		Breaks:       s.feed.breaks.Load(),
		UnreadEvents: s.feed.unread.Load(),
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

// Size returns how many objects a resource has in memory, and about their bytes: none if nobody has asked for it yet, -1 of both if it is
// not in memory.
func (s *Store) Size(group, plural string) (objects int, bytes int64) {
	s.mu.RLock()
	r := s.resources[group+"/"+plural]
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

func (r *Resource) stats() (stats ResourceStats, warm bool) {
	fed, c := r.store.feed.current(), &r.counts
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.cache == nil {
		return ResourceStats{}, false
	}
	return ResourceStats{
		Resource:      r.name,
		Revision:      r.revisionLocked(fed),
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
