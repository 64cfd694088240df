package etcd

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestInMemory checks that users of the etcd in memory have keys of their own, and that nothing is left of them.
func TestInMemory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var users sync.WaitGroup
	for range 8 {
		users.Go(func() {
			for range 3 {
				useMemory(t)
			}
		})
	}
	users.Wait()
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func useMemory(t *testing.T) {
	o := NewOptions()
	o.OwnPrefix()
	etcd, err := StartInMemory(context.Background(), o.Root())
	if err != nil {
		t.Error(err)
		return
	}
	defer etcd.Close()
	if _, err := etcd.Client.Put(context.Background(), o.Root()+"/key", "value"); err != nil {
		t.Error(err)
	}
	stored, err := etcd.Client.Get(context.Background(), o.Root()+"/", clientv3.WithPrefix())
	if err != nil || stored.Count != 1 {
		t.Errorf("%v keys, %v", stored, err)
	}
}

// TestInMemoryDeletesKeys checks that the keys of a user are deleted while others go on.
func TestInMemoryDeletesKeys(t *testing.T) {
	one, other := NewOptions(), NewOptions()
	one.OwnPrefix()
	other.OwnPrefix()
	left, err := StartInMemory(t.Context(), one.Root())
	if err != nil {
		t.Fatal(err)
	}
	defer left.Close()
	gone, err := StartInMemory(t.Context(), other.Root())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{one.Root() + "/key", other.Root() + "/key"} {
		if _, err := left.Client.Put(t.Context(), key, "value"); err != nil {
			t.Fatal(err)
		}
	}
	gone.Close()
	all, err := left.Client.Get(t.Context(), "/", clientv3.WithPrefix())
	if err != nil || all.Count != 1 || string(all.Kvs[0].Key) != one.Root()+"/key" {
		t.Errorf("%v, %v", all, err)
	}
}

// TestInMemoryStartIsCancelled checks that a start that was cancelled does not keep the next one from succeeding.
func TestInMemoryStartIsCancelled(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := StartInMemory(cancelled, "/cancelled"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	useMemory(t)
}
