package dynamicstorage

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// catchUp reads events from etcd that the ring does not have any more. They are prepended to the ring if they fit, so
// that the next watchers find them there: after a restart of the server all clients come back with old revisions.
// Otherwise they are returned, in parts, so that a slow watcher holds no more than one part in memory.
func (w *Watcher) catchUp(ctx context.Context) ([]Event, error) {
	r := w.resource
	select {
	case r.replays <- struct{}{}:
		defer func() { <-r.replays }()
	case <-w.wake: // perhaps closed
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	after, floor, err := w.missing()
	if err != nil || after >= floor { // another watcher has prepended them
		return nil, err
	}
	part, err := r.replay(ctx, after, floor)
	if errors.Is(err, errStreamEnded) || errors.Is(err, errWatchEnded) {
		return nil, w.waitToReplay(ctx)
	}
	if err != nil {
		return nil, err
	}
	return w.prepend(part, floor)
}

// waitToReplay waits a little after etcd has ended a replay. The feed may find out meanwhile that etcd was restored.
func (w *Watcher) waitToReplay(ctx context.Context) error {
	select {
	case <-w.resource.store.options.Clock.After(replayInterval):
	case <-w.wake: // perhaps closed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// missing returns the range of revisions between the watcher and the ring; it is empty if the watcher can read the
// ring.
func (w *Watcher) missing() (after, floor int64, err error) {
	r := w.resource
	r.mu.RLock()
	defer r.mu.RUnlock()
	switch {
	case w.generation != r.generation:
		return 0, 0, r.ended
	case w.revision >= r.ring.floor:
		return w.revision, w.revision, nil
	}
	return w.revision, r.ring.floor, nil
}

// prepend adds replayed events to the ring, or returns them if there is no room.
func (w *Watcher) prepend(part *replayPart, floor int64) ([]Event, error) {
	r := w.resource
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.generation != r.generation {
		return nil, r.ended
	}
	if part.complete && r.ring.floor == floor && r.ring.prepend(part.events, w.revision) {
		return nil, nil
	}
	w.revision = part.revision
	return part.events, nil
}

// Parts of a replay are about this large.
const (
	replayEvents = 2000
	replayBytes  = 2 << 20
)

// replayPart is a part of the history.
type replayPart struct {
	events []Event
	bytes  int64
	// revision: there are no other events up to it.
	revision int64
	// complete: the part reaches the revision that was asked for.
	complete bool
}

const (
	// replayInterval is the time between progress requests. etcd brings watches that begin in the past up to date
	// every 100 ms.
	replayInterval = 20 * time.Millisecond
	// replayRequests bounds the progress requests without an answer, to five seconds or more. They are counted, not
	// timed, because a process without CPU time sends fewer.
	replayRequests = 250
)

// errNoProgress ends a replay whose watch etcd does not report the progress of.
var errNoProgress = errors.New("etcd does not report the progress of the watch")

// replay reads the events after one revision and up to another from etcd, or the first part of them. The error is
// ErrCompacted when etcd does not have them any more.
func (r *Resource) replay(ctx context.Context, after, upTo int64) (*replayPart, error) {
	store := r.store
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	defer context.AfterFunc(store.background, cancel)()
	watcher := store.newWatcher(func() {})
	defer func() { _ = watcher.Close() }()
	responses := watcher.Watch(ctx, r.prefix, clientv3.WithPrefix(), clientv3.WithRev(after+1),
		clientv3.WithPrevKV(), clientv3.WithCreatedNotify(), clientv3.WithFragment())
	timer := store.options.Clock.NewTimer(replayInterval)
	defer timer.Stop()
	part := &replayPart{revision: after}
	for requests := 0; ; {
		select {
		case resp, open := <-responses:
			if !open {
				return nil, etcdError(ctx, "reading events from etcd", errWatchEnded)
			}
			if err := resp.Err(); err != nil {
				return nil, etcdError(ctx, "reading events from etcd", err)
			}
			if err := part.add(ctx, r, &resp, upTo); err != nil {
				return nil, err
			}
			if part.complete || len(part.events) >= replayEvents || part.bytes >= replayBytes {
				return part, nil
			}
		case <-timer.C():
			if requests++; requests > replayRequests {
				return nil, errors.Join(ErrCompacted, errNoProgress)
			}
			if err := watcher.RequestProgress(ctx); err != nil {
				return nil, etcdError(ctx, "requesting the progress of a watch", err)
			}
			timer.Reset(replayInterval)
		}
	}
}

// add adds the events of a response, up to the revision upTo.
func (p *replayPart) add(ctx context.Context, r *Resource, resp *clientv3.WatchResponse, upTo int64) error {
	if resp.IsProgressNotify() {
		p.revision = min(max(p.revision, resp.Header.Revision), upTo)
	}
	for _, raw := range resp.Events {
		if raw.Kv.ModRevision > upTo {
			p.revision = upTo
			break
		}
		p.revision = raw.Kv.ModRevision
		if !r.owns(raw.Kv) {
			continue
		}
		event, err := r.pastEvent(ctx, raw)
		if err != nil {
			return err
		}
		p.events = append(p.events, event)
		p.bytes += event.cost()
		if event.Entry != nil {
			p.bytes += event.Entry.size()
		}
	}
	p.complete = p.revision >= upTo
	return nil
}

// pastEvent decodes an event with its previous value. If etcd does not have that, it has been compacted.
func (r *Resource) pastEvent(ctx context.Context, raw *clientv3.Event) (Event, error) {
	event := Event{Revision: raw.Kv.ModRevision}
	if !raw.IsCreate() {
		if raw.PrevKv == nil {
			return Event{}, ErrCompacted
		}
		event.Prev = r.entry(ctx, raw.PrevKv)
	}
	if raw.Type != clientv3.EventTypeDelete {
		event.Entry = r.entry(ctx, raw.Kv)
	}
	return event, nil
}
