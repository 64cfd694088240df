package dynamicstorage

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestUnavailable(t *testing.T) {
	t.Parallel()
	proxy := startProxy(t.TempDir()+"/proxy", shared.Addr().String())
	t.Cleanup(proxy.stop)
	s := run(t, Options{Client: proxy.dial(t), Prefix: shared.Prefix(t), WaitFor: 10 * time.Millisecond})
	r := s.Resource("g", "p")
	if err := s.WaitForRevision(deadline(t), put(t, r, "x", "1").Revision); err != nil {
		t.Fatal(err)
	}
	snapshot(t, r, ReadAt{})
	becomesReady(t, s)
	proxy.cut(true)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Snapshot(ctx, ReadAt{}); err == nil {
		t.Error("a consistent read was answered without etcd")
	}
	if got, _, err := r.Get(deadline(t), "x", ReadAt{Mode: Any}); err != nil || string(got.Value) != "1" {
		t.Errorf("%+v, %v", got, err)
	}
	proxy.open()
	if err := s.WaitForRevision(deadline(t), put(t, r, "x", "2").Revision); err != nil {
		t.Fatal(err)
	}
	becomesReady(t, s)
}

// becomesReady waits until the feed has a watch.
func becomesReady(t *testing.T, s *Store) {
	t.Helper()
	ctx := deadline(t)
	for err := s.Ready(ctx); err != nil; err = s.Ready(ctx) {
		if ctx.Err() != nil {
			t.Fatalf("not ready: %v", err)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestStoppedStore(t *testing.T) {
	t.Parallel()
	s, err := New(Options{Client: shared.client, Prefix: shared.Prefix(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	r := s.Resource("g", "p")
	w := watch(t, r, snapshot(t, r, ReadAt{}).Revision)
	waiting := make(chan error, 1)
	go func() {
		_, err := w.Next(context.Background())
		waiting <- err
	}()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := <-waiting; !errors.Is(err, ErrClosed) {
		t.Errorf("a watcher ended with %v", err)
	}
	if err := s.WaitForRevision(context.Background(), 1<<60); !errors.Is(err, ErrClosed) {
		t.Errorf("a wait ended with %v", err)
	}
	if _, err := s.Resource("g", "other").Snapshot(context.Background(), ReadAt{}); !errors.Is(err, ErrClosed) {
		t.Errorf("a read ended with %v", err)
	}
	if err := s.Run(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("a second run ended with %v", err)
	}
	if _, err := New(Options{}); err == nil {
		t.Error("a store without etcd")
	}
}

// TestRetire checks that late readers do not load a retired resource. Store.Resource returns another one.
func TestRetire(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), testStore(t)
	old := s.Resource("g", "p")
	put(t, old, "x", "0")
	w := watch(t, old, 0)
	old.Retire()
	if _, err := w.Next(ctx); !errors.Is(err, ErrClosed) {
		t.Errorf("the watch ended with %v", err)
	}
	if _, err := old.Snapshot(ctx, ReadAt{Mode: Consistent}); !errors.Is(err, ErrClosed) {
		t.Errorf("a list ended with %v", err)
	}
	if _, err := old.Watch(ctx, 0); !errors.Is(err, ErrClosed) {
		t.Errorf("another watch ended with %v", err)
	}
	if stats := s.Stats(); len(stats.Resources) > 0 {
		t.Errorf("in memory: %v", stats.Resources)
	}
	next := s.Resource("g", "p")
	if next == old || !old.Retired() || next.Retired() {
		t.Fatal("there is no other resource")
	}
	put(t, next, "y", "1")
	snapshot, err := next.Snapshot(ctx, ReadAt{Mode: Consistent})
	if err != nil {
		t.Fatal(err)
	}
	if count, err := snapshot.Count(ctx, "", ""); err != nil || count != 2 {
		t.Errorf("%d objects, %v", count, err)
	}
}
