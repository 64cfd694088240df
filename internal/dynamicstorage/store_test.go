package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestReadsAndWrites(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	r := s.Resource("example.com", "widgets")
	if r != s.Resource("example.com", "widgets") {
		t.Fatal("a resource has two handles")
	}
	ctx := deadline(t)
	if _, revision, err := r.Get(ctx, "a/x", ReadAt{}); !errors.Is(err, ErrNotFound) || revision == 0 {
		t.Fatalf("absent key: revision %d, %v", revision, err)
	}
	first := put(t, r, "a/x", "1")
	for _, warm := range []bool{false, true} {
		if warm {
			snapshot(t, r, ReadAt{})
		}
		for _, at := range []ReadAt{{}, {Mode: Any}, {Mode: NotOlderThan, Revision: first.Revision},
			{Mode: Exact, Revision: first.Revision}} {
			e, revision, err := r.Get(ctx, "a/x", at)
			if err != nil || string(e.Value) != "1" || e.Revision != first.Revision || revision < first.Revision {
				t.Fatalf("warm %v, %+v: %+v at %d, %v", warm, at, e, revision, err)
			}
		}
	}
	second := put(t, r, "a/x", "2")
	if second.Revision <= first.Revision || second.created != first.Revision {
		t.Fatalf("%+v after %+v", second, first)
	}
	gone := remove(t, r, "a/x")
	if gone.Revision <= second.Revision || string(gone.Value) != "2" || second.Revision == gone.Revision {
		t.Fatalf("%+v deleted of %+v", gone, second)
	}
	for revision, want := range map[int64]string{first.Revision: "1", second.Revision: "2", gone.Revision: ""} {
		e, _, err := r.Get(ctx, "a/x", ReadAt{Mode: Exact, Revision: revision})
		if want == "" && !errors.Is(err, ErrNotFound) || want != "" && (err != nil || string(e.Value) != want) {
			t.Errorf("at %d: %+v, %v, want %q", revision, e, err, want)
		}
	}
	if _, err := r.Update(ctx, "a/x", deleting, UpdateOptions{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleting a missing entry: %v", err)
	}
	for _, key := range []string{"", "/", "a/", "/a", "a/b/c"} {
		if _, err := r.Update(ctx, key, putting("x"), UpdateOptions{}); !errors.Is(err, ErrInvalidKey) {
			t.Errorf("key %q: %v", key, err)
		}
		if _, _, err := r.Get(ctx, key, ReadAt{}); !errors.Is(err, ErrInvalidKey) {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

func TestFutureRevisions(t *testing.T) {
	t.Parallel()
	s := run(t, Options{Client: shared.client, Prefix: shared.Prefix(t), WaitFor: 20 * time.Millisecond})
	r := s.Resource("example.com", "widgets")
	ctx := deadline(t)
	now := put(t, r, "x", "1").Revision
	if err := s.WaitForRevision(ctx, now); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []ReadMode{NotOlderThan, Exact} {
		at := ReadAt{Mode: mode, Revision: now + 1_000_000}
		var future *FutureRevisionError
		_, err := r.Snapshot(ctx, at)
		if !errors.As(err, &future) || !errors.Is(err, ErrFutureRevision) || future.Requested != now+1_000_000 ||
			future.Current < now {
			t.Errorf("snapshot, mode %d: %v", mode, err)
		}
		if _, _, err := r.Get(ctx, "x", at); !errors.Is(err, ErrFutureRevision) {
			t.Errorf("get, mode %d: %v", mode, err)
		}
	}
}

func TestForeignKeysAreSkipped(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	r := s.Resource("example.com", "widgets")
	ctx := deadline(t)
	putForeign := func() {
		for _, key := range []string{"", "/example.com/widgets/a/b/c", "/example.com/widgets/",
			"/example.com/widgets//x", "/example.com/widgets", "/x", "x", "/example.com/widgetsx/y"} {
			if _, err := shared.client.Put(ctx, s.prefix+key, "foreign"); err != nil {
				t.Fatal(err)
			}
		}
	}
	putForeign()
	put(t, r, "a", "1")
	w := watch(t, r, snapshot(t, r, ReadAt{}).Revision)
	putForeign()
	put(t, r, "b", "2")
	if events := next(t, w, 1); events[0].Entry.Key != "b" {
		t.Errorf("%+v", events)
	}
	if got := entries(t, ctx, snapshot(t, r, ReadAt{}), "", ""); len(got) != 2 {
		t.Errorf("%d entries", len(got))
	}
}

func TestUpdateIsGuarded(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	other := run(t, Options{Client: shared.client, Prefix: s.prefix})
	r, foreign := s.Resource("example.com", "widgets"), other.Resource("example.com", "widgets")
	snapshot(t, r, ReadAt{})
	put(t, r, "x", "0")
	const writers, writes = 4, 10
	done := make(chan error)
	for i := range writers {
		r := []*Resource{r, foreign}[i%2]
		go func() {
			var err error
			for n := 0; n < writes && err == nil; n++ {
				_, err = r.Update(context.Background(), "x", func(_ context.Context, cur *Entry) (Change, error) {
					if cur == nil { // the cache may be behind
						return Change{}, ErrNotFound
					}
					return Change{Op: Put, Value: append(cur.Value[:len(cur.Value):len(cur.Value)], '+')}, nil
				}, UpdateOptions{})
			}
			done <- err
		}()
	}
	for range writers {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	e, _, err := r.Get(deadline(t), "x", ReadAt{})
	if want := "0" + strings.Repeat("+", writers*writes); err != nil || string(e.Value) != want {
		t.Errorf("%q, %v, want %q", e.Value, err, want)
	}
}

// TestUpdateOfStaleEntry checks that an error of mutate, or Keep, is final only for the present entry.
func TestUpdateOfStaleEntry(t *testing.T) {
	t.Parallel()
	s := run(t, Options{Client: shared.client, Prefix: shared.Prefix(t), WaitFor: 10 * time.Millisecond})
	r := s.Resource("g", "p")
	old := put(t, r, "x", "old")
	snapshot(t, r, ReadAt{})
	if err := s.WaitForRevision(deadline(t), old.Revision); err != nil {
		t.Fatal(err)
	}
	release := holdFeed(s)
	if _, err := shared.client.Put(deadline(t), r.fullKey("x"), "new"); err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string]error{"keep": nil, "fail": errors.New("no")} {
		var seen []string
		got, err := r.Update(deadline(t), "x", func(_ context.Context, cur *Entry) (Change, error) {
			seen = append(seen, string(cur.Value))
			return Change{}, answer
		}, UpdateOptions{})
		if fmt.Sprint(seen) != "[old new]" || !errors.Is(err, answer) || answer == nil && string(got.Value) != "new" {
			t.Errorf("%s: saw %v, got %+v, %v", name, seen, got, err)
		}
	}
	if cached, _, err := r.Get(deadline(t), "x", ReadAt{Mode: Any}); err != nil || cached != old &&
		cached.Revision != old.Revision {
		t.Errorf("the feed was not held: %+v, %v", cached, err)
	}
	release()
}

// holdFeed blocks the feed until the function is called.
func holdFeed(s *Store) (release func()) {
	r := s.Resource("hold", "hold")
	_ = r.warm(context.Background())
	r.mu.Lock()
	if _, err := s.client.Put(context.Background(), r.fullKey("x"), ""); err != nil {
		panic(err)
	}
	return r.mu.Unlock
}

func TestPendingWrites(t *testing.T) {
	t.Parallel()
	for _, transform := range []Transformer{nil, &cipher{}} {
		t.Run(fmt.Sprintf("%T", transform), func(t *testing.T) {
			s := run(t, Options{Client: shared.client, Prefix: shared.Prefix(t), Transform: transform})
			r := s.Resource("g", "p")
			w := watch(t, r, snapshot(t, r, ReadAt{}).Revision)
			viewer := NewViewer(func(context.Context, []*Entry) ([]*View, error) {
				return nil,
					errors.New("made anew")
			})
			for i := range 20 {
				view := &View{At: i}
				e, err := r.Update(deadline(t), fmt.Sprintf("n/%d", i%5),
					func(context.Context, *Entry) (Change, error) {
						return Change{Op: Put, Value: []byte("same"),
								Attach: func(e *Entry) { viewer.Attach(e, view) }},
							nil
					}, UpdateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if event := next(t, w, 1)[0]; event.Entry != e {
					t.Errorf("write %d came back as another entry: %+v, %+v", i, event.Entry, e)
				}
				cached, _, err := r.Get(deadline(t), e.Key, ReadAt{})
				if err != nil || cached != e {
					t.Errorf("write %d is another entry in the cache: %v", i, err)
				}
				if got, err := viewer.View(deadline(t), cached); err != nil || got.At != i {
					t.Errorf("view of write %d is lost: %v", i, err)
				}
			}
		})
	}
}

// cipher stores values with their key and a counter, as encryption with a nonce does.
type cipher struct{ n int }

func (c *cipher) FromStorage(_ context.Context, data []byte, key string) ([]byte, bool, error) {
	rest, ok := strings.CutPrefix(string(data), key+"#")
	if !ok {
		return nil, false, errors.New("not for this key")
	}
	generation, value, _ := strings.Cut(rest, "#")
	return []byte(value), generation == "old", nil
}

func (c *cipher) ToStorage(_ context.Context, value []byte, key string) ([]byte, error) {
	c.n++
	return fmt.Appendf(nil, "%s#%d#%s", key, c.n, value), nil
}

func TestUnreadableEntries(t *testing.T) {
	t.Parallel()
	s := run(t, Options{Client: shared.client, Prefix: shared.Prefix(t), Transform: &cipher{},
		Header: func(value []byte) (Header, error) {
			if string(value) == "headless" {
				return Header{}, errors.New("headless")
			}
			return Header{Labels: PairsOf(map[string]string{"value": string(value)})}, nil
		}})
	r := s.Resource("g", "p")
	ctx := deadline(t)
	for key, value := range map[string]string{"cipher": "garbage", "header": r.fullKey("header") + "#1#headless",
		"old": r.fullKey("old") + "#old#good"} {
		if _, err := shared.client.Put(ctx, r.fullKey(key), value); err != nil {
			t.Fatal(err)
		}
	}
	got := entries(t, ctx, snapshot(t, r, ReadAt{}), "", "")
	if len(got) != 3 || got[0].Err == nil || got[0].Value != nil || got[1].Err == nil || got[2].Err != nil ||
		got[2].Header.Labels.Get("value") != "good" {
		t.Fatalf("%+v", got)
	}
	for _, e := range got[:2] {
		remove(t, r, e.Key)
	}
	kept, err := r.Update(ctx, "old", func(context.Context, *Entry) (Change, error) { return Change{}, nil },
		UpdateOptions{})
	if err != nil || kept.Revision == got[2].Revision || string(kept.Value) != "good" || kept.stale {
		t.Errorf("an entry with an old key was not stored again: %+v, %v", kept, err)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	r := testStore(t).Resource("g", "p")
	for _, size := range []int{1700 << 10, 3 << 20} { // above the limit of etcd; above the limit of the client
		if _, err := r.Update(deadline(t), "x", putting(strings.Repeat("x", size)), UpdateOptions{}); !errors.Is(err,
			ErrTooLarge) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
