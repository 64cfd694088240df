package dynamicstorage

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"
)

// Follower learns the entries of a resource and their changes. Its functions are called one after the other.
type Follower struct {
	// Begin, if set, is called before the entries are listed, the first time and each time events were lost. What the
	// follower has learned before may be wrong.
	Begin func()
	// Changed is called for every entry that is listed, as if it was created then, and for every event after that.
	Changed func(event *Event)
	// Current, if set, is called when the follower has caught up with the list, and with some events, up to a revision.
	Current func(revision int64)
}

// Follow lists the entries of the resource and follows its events until ctx is done or the store stops. It lists again
// when events were lost or etcd does not answer. It loads the resource. Store.Observe and Store.Follow do not.
func (r *Resource) Follow(ctx context.Context, f Follower) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.store.background, cancel)()
	for ctx.Err() == nil {
		err := r.follow(ctx, f)
		if ctx.Err() != nil {
			return
		}
		klog.FromContext(ctx).Error(err, "Lost the events of a resource, following it again", "resource", r.name)
		_ = r.store.pause(ctx, maxBackoff)
	}
}

func (r *Resource) follow(ctx context.Context, f Follower) error {
	if f.Begin != nil {
		f.Begin()
	}
	current := func(revision int64) {
		if f.Current != nil {
			f.Current(revision)
		}
	}
	revision, err := r.Each(ctx, func(e *Entry) { f.Changed(&Event{Revision: e.Revision, Entry: e}) })
	if err != nil {
		return err
	}
	current(revision)
	return r.Events(ctx, revision, func(events []Event) {
		for n := range events {
			f.Changed(&events[n])
		}
		current(events[len(events)-1].Revision)
	})
}

// Each calls f with every entry, and returns the revision of this state, which has all writes that were done before. It
// loads the resource.
func (r *Resource) Each(ctx context.Context, f func(*Entry)) (revision int64, err error) {
	snapshot, err := r.Snapshot(ctx, ReadAt{Mode: Consistent})
	if err != nil {
		return 0, fmt.Errorf("list %s: %w", r.name, err)
	}
	for entry, err := range snapshot.Ascend(ctx, "", "") {
		if err != nil {
			return 0, fmt.Errorf("list %s: %w", r.name, err)
		}
		f(entry)
	}
	return snapshot.Revision, nil
}

// Events calls f with the events after a revision, some at a time, until ctx is done or events were lost.
func (r *Resource) Events(ctx context.Context, after int64, f func(events []Event)) error {
	watcher, err := r.Watch(ctx, after)
	if err != nil {
		return fmt.Errorf("watch %s: %w", r.name, err)
	}
	defer watcher.Close()
	for {
		events, err := watcher.Next(ctx)
		if err != nil {
			return fmt.Errorf("watch %s: %w", r.name, err)
		}
		f(events)
	}
}
