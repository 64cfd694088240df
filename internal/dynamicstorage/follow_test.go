package dynamicstorage

import (
	"context"
	"fmt"
	"testing"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

// TestFollow checks that a follower gets the stored entries and then the events, in this order, and the same again
// after events were lost.
func TestFollow(t *testing.T) {
	t.Parallel()
	s := run(t, Options{Client: shared.client, Prefix: shared.Prefix(t)})
	r := s.Resource("g", "p")
	put(t, r, "a", "1")
	put(t, r, "b", "2")
	calls := make(chan string)
	etcdtest.Run(t, func(ctx context.Context) error {
		say := func(call string) {
			select {
			case calls <- call:
			case <-ctx.Done():
			}
		}
		r.Follow(ctx, Follower{
			Begin: func() { say("begin") },
			Changed: func(event *Event) {
				switch {
				case event.Entry == nil:
					say("- " + event.Prev.Key)
				case event.Prev == nil:
					say(fmt.Sprintf("+ %s=%s", event.Entry.Key, event.Entry.Value))
				default:
					say(fmt.Sprintf("%s=%s", event.Entry.Key, event.Entry.Value))
				}
			},
			Current: func(int64) { say("current") },
		})
		return nil
	})
	expect := func(want ...string) {
		t.Helper()
		for _, call := range want {
			if got := <-calls; got != call {
				t.Fatalf("%q, want %q", got, call)
			}
		}
	}
	expect("begin", "+ a=1", "+ b=2", "current")
	put(t, r, "a", "3")
	expect("a=3", "current")
	if _, err := r.Update(deadline(t), "b", func(context.Context, *Entry) (Change, error) {
		return Change{Op: Delete}, nil
	}, UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("- b", "current")
	put(t, r, "c", "4")
	expect("+ c=4", "current")
	r.loseEvents()
	expect("begin", "+ a=3", "+ c=4", "current")
}
