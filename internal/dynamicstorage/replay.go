package dynamicstorage

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// catchUp reads events from etcd that the ring does not have any more. They are put before the ring if they fit there, so that the
// watchers that come next find them: after a restart of the server all clients come back with old revisions. Otherwise they
// are returned, a part at a time, so that a slow watcher holds no more than one.
func (w *Watcher) catchUp(ctx context.Context) ([]Event, error) {
	r := w.resource
	select {
	case r.replays <- struct{}{}:
		defer func() { <-r.replays }()
	case <-w.wake: // closed, perhaps
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	after, floor, err := w.behind()
	if err != nil || after >= floor { // somebody else has brought the events
		return nil, err
	}
	replayed, err := r.replay(ctx, after, floor)
	if err != nil {
		return nil, err
	}
	return w.enter(replayed, floor)
}

// behind returns where the watcher is and where the ring begins; the same if the watcher can read it.
func (w *Watcher) behind() (after, floor int64, err error) {
	r := w.resource
	r.mu.RLock()
	defer r.mu.RUnlock()
	switch {
	case w.era != r.era:
		return 0, 0, r.ended
	case r.ring.reaches(w.revision, w.reloads):
		return w.revision, w.revision, nil
	}
	return w.revision, r.ring.floor, nil
}

// enter joins the ring with the events before its floor, or returns them if the ring does not take them.
func (w *Watcher) enter(replayed *replayed, floor int64) ([]Event, error) {
	r := w.resource
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.era != r.era {
		return nil, r.ended
	}
	if replayed.complete && r.ring.floor == floor && r.ring.prepend(replayed.events, w.revision) {
		return nil, nil
	}
	w.revision, w.reloads = replayed.revision, r.ring.reloads
	return replayed.events, nil
}

// Replays are read in parts, about this large.
const (
	replayEvents = 2000
	replayBytes  = 2 << 20
)

// replayed is a part of the history.
type replayed struct {
	events []Event
	bytes  int64
	// revision: there are no other events up to it.
	revision int64
	// complete: the part reaches to where it should end.
	complete bool
}

const (
	// replayAsk is how long to wait for an answer of etcd before it is asked for its progress. It brings watches that begin in the past
	// up to date every 100 ms.
	replayAsk = 20 * time.Millisecond
	// replayAsks is how often it is asked in vain, for five seconds or longer: a process that has to wait for a processor asks less often.
	replayAsks = 250
)

// replay reads the events after a revision and up to another from etcd, or the first part of them. ErrCompacted: etcd does not
// have them any more.
func (r *Resource) replay(ctx context.Context, after, upTo int64) (*replayed, error) {
	ctx, cancel := context.WithCancel(ownStream(clientv3.WithRequireLeader(ctx)))
	defer cancel()
	store := r.store
	stop := context.AfterFunc(store.background, cancel)
	defer stop()
	responses := store.client.Watch(ctx, r.prefix, clientv3.WithPrefix(), clientv3.WithRev(after+1),
		clientv3.WithPrevKV(), clientv3.WithCreatedNotify(), clientv3.WithFragment())
	timer := store.options.Clock.NewTimer(replayAsk)
	defer timer.Stop()
	part := &replayed{revision: after}
	for asked := 0; ; {
		select {
		case resp, open := <-responses:
			if !open {
				return nil, etcdError(ctx, "reading events from etcd", errWatchEnded)
			}
			if err := resp.Err(); err != nil {
				return nil, etcdError(ctx, "reading events from etcd", err)
			}
			if err := r.replayResponse(ctx, part, &resp, upTo); err != nil {
				return nil, err
			}
			if part.complete || len(part.events) >= replayEvents || part.bytes >= replayBytes {
				return part, nil
			}
		case <-timer.C():
			if asked++; asked > replayAsks { // etcd does not tell whether there is more
				return nil, errors.Join(ErrCompacted, errNoProgress)
			}
			if err := store.client.RequestProgress(ctx); err != nil {
				return nil, etcdError(ctx, "asking etcd for the progress of a watch", err)
			}
			timer.Reset(replayAsk)
		}
	}
}

var errNoProgress = errors.New("etcd does not report progress")

// replayResponse adds a response to a part of the history that ends at upTo.
func (r *Resource) replayResponse(ctx context.Context, part *replayed, resp *clientv3.WatchResponse, upTo int64) error {
	if resp.IsProgressNotify() {
		part.revision = min(max(part.revision, resp.Header.Revision), upTo)
	}
	for _, raw := range resp.Events {
		if raw.Kv.ModRevision > upTo {
			part.revision = upTo
			break
		}
		part.revision = raw.Kv.ModRevision
		if !r.owns(raw.Kv) {
			continue
		}
		event, err := r.pastEvent(ctx, raw)
		if err != nil {
			return err
		}
		part.events = append(part.events, event)
		part.bytes += event.cost()
		if event.Entry != nil {
			part.bytes += event.Entry.size()
		}
	}
	part.complete = part.revision >= upTo
	return nil
}

// pastEvent decodes an event with its previous value. Where etcd has none, it has been compacted since.
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
