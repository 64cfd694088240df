package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

func TestViewsAreMadeOnce(t *testing.T) {
	t.Parallel()
	var all []*Entry
	for i := range 100 {
		all = append(all, &Entry{Key: fmt.Sprint(i)})
	}
	var made sync.Map
	var calls atomic.Int64
	v := NewViewer(func(_ context.Context, entries []*Entry) ([]*View, error) {
		calls.Add(1)
		views := make([]*View, len(entries))
		for i, e := range entries {
			if _, again := made.LoadOrStore(e.Key, true); again {
				t.Errorf("view of %s is made twice", e.Key)
			}
			views[i] = &View{Bytes: []byte(e.Key)}
		}
		return views, nil
	})
	attached := &View{Bytes: []byte("7")}
	v.Attach(all[7], attached)
	v.Attach(all[7], &View{})
	made.Store("7", true)
	var readers sync.WaitGroup
	for i := range 8 {
		readers.Go(func() {
			mine := append(append([]*Entry{}, all[i*10:]...), all[:i*10+1]...) // others in another order, one twice
			views, err := v.Views(context.Background(), mine)
			if err != nil {
				t.Error(err)
				return
			}
			for j, view := range views {
				if string(view.Bytes) != mine[j].Key {
					t.Errorf("view of %s is %s", mine[j].Key, view.Bytes)
				}
			}
		})
	}
	readers.Wait()
	if got, err := v.View(context.Background(), all[7]); err != nil || string(got.Bytes) != "7" {
		t.Errorf("attached view is lost: %v", err)
	}
	if len(v.making) != 0 {
		t.Errorf("%d views are still being made", len(v.making))
	}
}

func TestViewErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("webhook is down")
	v := NewViewer(func(context.Context, []*Entry) ([]*View, error) { return nil, broken })
	e := &Entry{}
	for range 2 {
		if _, err := v.View(context.Background(), e); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
	}
	short := NewViewer(func(context.Context, []*Entry) ([]*View, error) { return nil, nil })
	if _, err := short.View(context.Background(), e); err == nil {
		t.Error("no error for a missing view")
	}
	// A caller that waits for the views of another caller makes them when that one fails.
	begun, finish := make(chan struct{}), make(chan struct{})
	first := true
	flaky := NewViewer(func(context.Context, []*Entry) ([]*View, error) {
		if first {
			first = false
			close(begun)
			<-finish
			return nil, broken
		}
		return []*View{{}}, nil
	})
	failed := make(chan error)
	go func() {
		_, err := flaky.View(context.Background(), e)
		failed <- err
	}()
	<-begun
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := flaky.View(ended, e); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled wait ended with %v", err)
	}
	succeeded := make(chan error)
	go func() {
		_, err := flaky.View(context.Background(), e)
		succeeded <- err
	}()
	close(finish)
	if err := <-failed; !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if err := <-succeeded; err != nil {
		t.Errorf("%v", err)
	}
}

func TestClosedViewersAreDropped(t *testing.T) {
	simple := func(context.Context, []*Entry) ([]*View, error) { return []*View{{}}, nil }
	a, b, c := NewViewer(simple), NewViewer(simple), NewViewer(simple)
	e := &Entry{}
	for _, v := range []*Viewer{a, b, c} {
		if _, err := v.View(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
	before := closedViewers.Load()
	b.Close()
	b.Close()
	if closedViewers.Load() != before+1 {
		t.Error("closing is counted wrongly")
	}
	e.dropViews()
	if a.cached(e) == nil || b.cached(e) != nil || c.cached(e) == nil {
		t.Error("wrong views were dropped")
	}
	if _, err := b.View(context.Background(), e); err != nil || b.cached(e) != nil {
		t.Errorf("closed viewer: %v", err)
	}
	if later := e.at(7); a.cached(later) == nil || later.Revision != 7 {
		t.Error("a copy loses its views")
	}
}
