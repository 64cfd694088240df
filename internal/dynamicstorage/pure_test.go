package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestCleanPrefix(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"": "", "/": "", "registry": "/registry", "/registry/": "/registry",
		"/a//b/": "/a/b"} {
		if got := cleanPrefix(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

// resourcesNamed returns cold resources of some folders.
func resourcesNamed(folders ...string) map[string]*Resource {
	resources := map[string]*Resource{}
	for _, folder := range folders {
		resources[folder] = newResource(&Store{prefix: "/r"}, folder)
	}
	return resources
}

func TestResourceOf(t *testing.T) {
	resources := resourcesNamed("g/p", "g.x/p", "folder", "deep/folder", "very/deep/folder")
	for key, want := range map[string]string{
		"/r/g/p/x":                "g/p",
		"/r/g/p/n/x":              "g/p",
		"/r/g/p/n/x/y":            "g/p", // validKey checks the rest
		"/r/g/p/":                 "g/p",
		"/r/g/p":                  "",
		"/r/g":                    "",
		"/r/":                     "",
		"/r":                      "",
		"":                        "",
		"/r//p/x":                 "",
		"/r/g//x":                 "",
		"/rr/g/p/x":               "",
		"compact_rev":             "",
		"/other/g/p/xy":           "",
		"/r/g.x/p/x":              "g.x/p",
		"/r/g.x/p/n/x":            "g.x/p",
		"/r/g.x/q/folder/x":       "",
		"/r/g.x/":                 "",
		"/r/folder/x":             "folder",
		"/r/folder/n/x":           "folder",
		"/r/folder/":              "folder",
		"/r/folder":               "",
		"/r/folders/x":            "",
		"/r/deep/folder/n/x":      "deep/folder",
		"/r/deep/x":               "",
		"/r/deep//folder/x":       "",
		"/r/very/deep/folder/n/x": "very/deep/folder",
	} {
		got := ""
		if r := resourceOf(resources, "/r", []byte(key)); r != nil {
			got = r.name
		}
		if got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
	for _, key := range []string{"/r/g.x/p/namespace/name", "/r/deep/folder/namespace/name", "/r/other/namespace/name"} {
		if n := testing.AllocsPerRun(100, func() { resourceOf(resources, "/r", []byte(key)) }); n != 0 {
			t.Errorf("%s: %v allocations", key, n)
		}
	}
}

func FuzzResourceOf(f *testing.F) {
	for _, key := range []string{"/r/g/p/x", "/r/g.x/p/n/x", "/r", "", "/r//", "/r/folder/x", "/r/deep/folder/"} {
		f.Add(key)
	}
	resources := resourcesNamed("g/p", "g.x/p", "folder", "deep/folder")
	f.Fuzz(func(t *testing.T, key string) {
		want := ""
		for folder, r := range resources {
			if strings.HasPrefix(key, r.prefix) {
				want = folder
			}
		}
		got := ""
		if r := resourceOf(resources, "/r", []byte(key)); r != nil {
			got = r.name
		}
		if got != want {
			t.Errorf("%q is of resource %q, want %q", key, got, want)
		}
	})
}

func TestValidKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{"x": true, "n/x": true, "": false, "/": false, "/x": false, "n/": false,
		"a/b/c": false} {
		if got := validKey(key); got != want {
			t.Errorf("%q: %v", key, got)
		}
	}
}

func TestPrefixEnd(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{"/a/": "/a0", "a\xff": "b", "\xff": "\x00", "": "\x00"} {
		if got := prefixEnd(prefix); got != want {
			t.Errorf("%q: %q, want %q", prefix, got, want)
		}
	}
}

func TestNextLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ n, size, want int }{{200, 200 * 100, maxPage}, {200, 200 * 8192, 1024},
		{10, 10 << 20, minPage}, {10, 0, maxPage}} {
		if got := nextLimit(c.n, c.size); got != int64(c.want) {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestSupportsProgress(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"3.3.27": false, "3.4.30": false, "3.4.31": true, "3.5.12": false,
		"3.5.13": true, "3.6.0-rc.1": true, "3.7.3": true, "4.0.0": true, "2.3.8": false} {
		if got, err := supportsProgress(version); err != nil || got != want {
			t.Errorf("%s: %v, %v", version, got, err)
		}
	}
	if _, err := supportsProgress("new"); err == nil {
		t.Error("no error")
	}
}

func TestEtcdErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err, want error
	}{
		{rpctypes.ErrCompacted, ErrCompacted},
		{rpctypes.ErrGRPCCompacted, ErrCompacted},
		{rpctypes.ErrFutureRev, ErrFutureRevision},
		{rpctypes.ErrRequestTooLarge, ErrTooLarge},
		{status.Error(codes.ResourceExhausted, "trying to send message larger than max (5 vs. 4)"), ErrTooLarge},
		{rpctypes.ErrTooManyRequests, ErrUnavailable},
		{rpctypes.ErrNoLeader, ErrUnavailable},
		{rpctypes.ErrLeaderChanged, ErrUnavailable},
		{rpctypes.ErrTimeout, ErrUnavailable},
		{rpctypes.ErrTimeoutDueToLeaderFail, ErrUnavailable},
		{status.Error(codes.Unavailable, "connection refused"), ErrUnavailable},
		{status.Error(codes.Unknown, "raft proposal dropped"), ErrUnavailable},
		{status.Error(codes.Unknown, "raft: stopped"), ErrUnavailable},
		{context.DeadlineExceeded, ErrUnavailable},
		{rpctypes.ErrNoSpace, nil},
		{rpctypes.ErrPermissionDenied, nil},
		{errors.New("other"), nil},
	} {
		got := etcdError(context.Background(), "testing", c.err)
		if !errors.Is(got, c.err) {
			t.Errorf("%v is lost in %v", c.err, got)
		}
		for _, kind := range []error{ErrCompacted, ErrFutureRevision, ErrTooLarge, ErrUnavailable} {
			if errors.Is(got, kind) != (kind == c.want) {
				t.Errorf("%v is %v: %v", c.err, kind, errors.Is(got, kind))
			}
		}
	}
	if err := etcdError(context.Background(), "testing", nil); err != nil {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := etcdError(ended, "testing", rpctypes.ErrTimeout); !errors.Is(err, context.Canceled) ||
		errors.Is(err, ErrUnavailable) {
		t.Errorf("caller gave up: %v", err)
	}
}

// TestRing compares a ring with a slice of all events.
func TestRing(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		const start = 10
		r := newRing(1+rnd.IntN(200), int64(1+rnd.IntN(20000)), start)
		var all []Event
		revision := int64(start)
		for range rnd.IntN(600) {
			if revision += rnd.Int64N(3); len(all) == 0 {
				revision++
			}
			e := Event{Revision: revision, Entry: &Entry{}}
			if rnd.IntN(2) == 0 {
				e.Prev = &Entry{Value: make([]byte, rnd.IntN(100))}
			}
			all = append(all, e)
			r.push(e)
		}
		checkRing(t, r, all, rnd)
		from := max(start, r.floor-rnd.Int64N(10))
		older := slices.DeleteFunc(slices.Clone(all), func(e Event) bool {
			return e.Revision <= from ||
				e.Revision > r.floor
		})
		if r.prepend(older, from) && r.floor != from {
			t.Fatalf("floor %d, want %d", r.floor, from)
		}
		checkRing(t, r, all, rnd)
		r.push(Event{Revision: revision + 1})
		checkRing(t, r, append(all, Event{Revision: revision + 1}), rnd)
	}
}

func checkRing(t *testing.T, r *ring, all []Event, rnd *rand.Rand) {
	t.Helper()
	var bytes int64
	for _, e := range r.since(0) {
		bytes += e.cost()
	}
	if bytes != r.bytes || r.len() > r.maxEvents || r.bytes > r.maxBytes && r.len() > 1 {
		t.Fatalf("%d events, %d bytes counted as %d; limits %d, %d", r.len(), bytes, r.bytes, r.maxEvents, r.maxBytes)
	}
	from := r.floor
	if len(all) > 0 {
		from += rnd.Int64N(max(1, all[len(all)-1].Revision-from+2))
	}
	var got []Event
	for at := from; len(r.since(at)) > 0; at = got[len(got)-1].Revision {
		batch, _ := r.read(at, "", 1+rnd.IntN(5))
		got = append(got, batch...)
	}
	want := slices.DeleteFunc(slices.Clone(all), func(e Event) bool { return e.Revision <= from })
	if !slices.Equal(got, want) {
		t.Fatalf("after %d, floor %d: %d events, want %d", from, r.floor, len(got), len(want))
	}
}

// TestCacheAndUndo applies random changes to a cache and undoes them.
func TestCacheAndUndo(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	c := newCache(newTree(), 10)
	model := map[string]int64{}
	states := []string{stateOf(frozenState(c))}
	var events []Event
	for revision := int64(11); revision < 500; revision++ {
		key := fmt.Sprint("k", rnd.IntN(30))
		var e *Entry
		if rnd.IntN(3) > 0 {
			e = &Entry{Key: key, Revision: revision, Value: make([]byte, rnd.IntN(50))}
			model[key] = revision
		} else {
			delete(model, key)
		}
		if event, news := c.apply(key, e, revision); news {
			events = append(events, event)
			states = append(states, stateOf(frozenState(c)))
		}
		if _, news := c.apply(key, e, revision); news {
			t.Fatal("a change was applied twice")
		}
	}
	if c.entries.Len() != len(model) {
		t.Fatalf("%d entries, want %d", c.entries.Len(), len(model))
	}
	now := stateOf(c.entries)
	for i := range states {
		if got := stateOf(c.undo(events[i:])); got != states[i] {
			t.Fatalf("state %d is %s, want %s", i, got, states[i])
		}
	}
	if stateOf(c.entries) != now {
		t.Fatal("undoing has changed the cache")
	}
}

func frozenState(c *cache) *tree {
	entries, _ := c.snapshot()
	return entries
}

func stateOf(entries *tree) string {
	var b strings.Builder
	entries.Scan(func(e *Entry) bool {
		fmt.Fprint(&b, e.Key, "@", e.Revision, " ")
		return true
	})
	return b.String()
}

func TestCount(t *testing.T) {
	t.Parallel()
	entries := newTree()
	var keys []string
	for _, namespace := range []string{"a", "b", "c"} {
		for i := range 10 {
			key := fmt.Sprintf("%s/%d", namespace, i)
			keys = append(keys, key)
			entries.Set(&Entry{Key: key})
		}
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		prefix := []string{"", "a/", "b/", "c/", "d/"}[rnd.IntN(5)]
		start := ""
		if rnd.IntN(4) > 0 {
			start = keys[rnd.IntN(len(keys))]
		}
		want := 0
		for _, key := range keys {
			if strings.HasPrefix(key, prefix) && key >= start {
				want++
			}
		}
		if got := count(entries, prefix, start); got != want {
			t.Fatalf("prefix %q from %q: %d, want %d", prefix, start, got, want)
		}
	}
}
