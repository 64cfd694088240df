package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// follower watches a replica, starts a new watch when one ends, and keeps the events.
type follower struct {
	replica *replica
	// after is the revision at which the next watch starts.
	after int64

	mu      sync.Mutex // guards the fields below
	seen    []change
	reached int64
	err     error
	resumed int
}

// follow watches until the context ends.
func (f *follower) follow(ctx context.Context) {
	for ctx.Err() == nil && f.failure() == nil {
		c, err := connect(f.replica.server())
		if err == nil {
			f.watch(ctx, c)
			c.http.CloseIdleConnections()
		}
		f.mu.Lock()
		f.resumed++
		f.mu.Unlock()
		pause(ctx, 20*time.Millisecond)
	}
}

func (f *follower) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// watch watches until the server ends it.
func (f *follower) watch(ctx context.Context, c *client) {
	path := fmt.Sprintf("%s?watch=true&allowWatchBookmarks=true&resourceVersion=%d", cells, f.after)
	resp, err := c.open(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
			f.fail(fmt.Errorf("watch after %d: status %d", f.after, resp.StatusCode))
		}
		return
	}
	for decoder := json.NewDecoder(resp.Body); ; {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if decoder.Decode(&event) != nil {
			return
		}
		var o object
		if err := json.Unmarshal(event.Object, &o); err != nil {
			f.fail(fmt.Errorf("an event has no object: %w: %.300s", err, event.Object))
			return
		}
		switch event.Type {
		case "ADDED", "MODIFIED":
			f.note(o.revision(), change{key: o.Metadata.Name, revision: o.revision(), exists: true,
				value: o.Spec.Value})
		case "DELETED":
			f.note(o.revision(), change{key: o.Metadata.Name, revision: o.revision()})
		case "BOOKMARK":
			f.note(o.revision())
		default:
			f.fail(fmt.Errorf("watch after %d: %s", f.after, event.Object))
			return
		}
	}
}

func (f *follower) note(revision int64, changes ...change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, changes...)
	f.reached, f.after = revision, revision
}

func (f *follower) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// waitFollowed waits until the followers have seen the last change.
func waitFollowed(t *testing.T, followers []*follower, end int64) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute) // bookmarks come once a minute
	for _, f := range followers {
		for {
			f.mu.Lock()
			reached, err := f.reached, f.err
			f.mu.Unlock()
			if err != nil || reached >= end {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("a watch has reached revision %d, not %d", reached, end)
				break
			}
			pause(t.Context(), 20*time.Millisecond)
		}
	}
}

// check compares the events with the log.
func (f *follower) check(t *testing.T, name string, log []change) {
	t.Helper()
	if err := f.failure(); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if slices.Equal(f.seen, log) {
		return
	}
	for i := range min(len(f.seen), len(log)) {
		if f.seen[i] != log[i] {
			t.Errorf("%s: event %d is %+v, the log has %+v", name, i, f.seen[i], log[i])
			return
		}
	}
	t.Errorf("%s: %d events, the log has %d", name, len(f.seen), len(log))
}
