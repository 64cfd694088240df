package dynamicstorage

// Stats are figures of a store, for metrics.
type Stats struct {
	// Revision is that of the feed.
	Revision int64
	// Connected: the feed has a watch.
	Connected bool
	// UnreadEvents is the number of events of resources that are not in memory.
	UnreadEvents int64
	// Resources are those in memory.
	Resources []ResourceStats
}

// ResourceStats are figures of a resource in memory.
type ResourceStats struct {
	// Resource is "<group>/<plural>".
	Resource string
	Entries  int
	// Bytes is about the memory of the entries, EventBytes that of replaced ones that recent events hold.
	Bytes, EventBytes int64
	Watchers          int
}

// Stats returns the figures of the store.
func (s *Store) Stats() Stats {
	stats := Stats{Revision: s.feed.current(), Connected: s.feed.up.Load(), UnreadEvents: s.feed.unread.Load()}
	for _, r := range s.all() {
		if rs, warm := r.stats(); warm {
			stats.Resources = append(stats.Resources, rs)
		}
	}
	return stats
}

func (r *Resource) stats() (stats ResourceStats, warm bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.cache == nil {
		return ResourceStats{}, false
	}
	return ResourceStats{
		Resource:   r.name,
		Entries:    r.cache.entries.Len(),
		Bytes:      r.cache.bytes,
		EventBytes: r.ring.bytes,
		Watchers:   r.watchers,
	}, true
}
