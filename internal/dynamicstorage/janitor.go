package dynamicstorage

import "time"

// janitorInterval is the time between two runs of the janitor.
const janitorInterval = 15 * time.Second

// runJanitor frees memory that is not used: unused indexes, resources that are idle, and views of closed
// viewers. It ends with the store.
func (s *Store) runJanitor() {
	ticker := s.options.Clock.NewTicker(janitorInterval)
	defer ticker.Stop()
	idleSince := map[*Resource]time.Time{}
	var swept int64
	for {
		select {
		case <-s.background.Done():
			return
		case now := <-ticker.C():
			closed := closedViewers.Load()
			for _, r := range s.all() {
				r.dropIndexes(now)
				s.coolDown(r, idleSince, now)
				if closed != swept {
					r.dropViews()
				}
			}
			swept = closed
		}
	}
}

// coolDown makes a resource cold if it had no readers and no watchers for IdleFor. idleSince records since when that
// is so.
func (s *Store) coolDown(r *Resource, idleSince map[*Resource]time.Time, now time.Time) {
	if s.options.IdleFor < 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read.Swap(false) || r.watchers > 0 || r.cache == nil {
		delete(idleSince, r)
		return
	}
	since, known := idleSince[r]
	switch {
	case !known:
		idleSince[r] = now
	case now.Sub(since) >= s.options.IdleFor:
		delete(idleSince, r)
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
