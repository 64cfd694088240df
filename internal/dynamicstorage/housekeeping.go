package dynamicstorage

import "time"

// housekeepingPeriod is how often the store looks for memory to give back.
const housekeepingPeriod = 15 * time.Second

// keepHouse gives memory back: of snapshots that were kept long enough, of indexes nobody asks, of resources nobody has read for
// long, and of views that nobody will ask for. It ends with the store.
func (s *Store) keepHouse() {
	ticker := s.options.Clock.NewTicker(housekeepingPeriod)
	defer ticker.Stop()
	unread := map[*Resource]time.Time{}
	var swept int64
	for {
		select {
		case <-s.background.Done():
			return
		case now := <-ticker.C():
			closed := closedViewers.Load()
			for _, r := range s.all() {
				r.expireKept(now)
				r.dropIndexes(now)
				s.coolDown(r, unread, now)
				if closed != swept {
					r.dropViews()
				}
			}
			swept = closed
		}
	}
}

// coolDown makes a resource cold that nobody watches and nobody has read for long. unread holds since when that is so.
func (s *Store) coolDown(r *Resource, unread map[*Resource]time.Time, now time.Time) {
	if s.options.IdleFor < 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read.Swap(false) || r.watchers > 0 || !r.warmLocked() {
		delete(unread, r)
		return
	}
	since, known := unread[r]
	switch {
	case !known:
		unread[r] = now
	case now.Sub(since) >= s.options.IdleFor:
		delete(unread, r)
		r.resetLocked(ErrClosed)
	}
}

// dropViews drops the views of closed viewers from all entries.
func (r *Resource) dropViews() {
	r.mu.Lock()
	if r.cache == nil {
		r.mu.Unlock()
		return
	}
	entries, _ := r.cache.snapshot()
	r.mu.Unlock()
	entries.Scan(func(e *Entry) bool {
		e.dropViews()
		return true
	})
}
