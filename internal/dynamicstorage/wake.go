package dynamicstorage

// wakeWatchers wakes those who wait for events. The feed calls it when it has moved on.
func (r *Resource) wakeWatchers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wakeLocked()
}

func (r *Resource) wakeLocked() {
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}
