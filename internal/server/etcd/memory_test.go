package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
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

// interceptedKV calls deleting before each deletion, and fails it with the error.
type interceptedKV struct {
	clientv3.KV
	deleting func() error
}

func (kv interceptedKV) Delete(
	ctx context.Context, key string, opts ...clientv3.OpOption,
) (*clientv3.DeleteResponse, error) {
	if err := kv.deleting(); err != nil {
		return nil, err
	}
	return kv.KV.Delete(ctx, key, opts...)
}

// TestInMemoryDeletesWithoutLock checks that a server can start while the keys of another one are being deleted, which
// happens in parts.
func TestInMemoryDeletesWithoutLock(t *testing.T) {
	left, gone := startMemory(t, "/left"), startMemory(t, "/gone")
	for n := range deletedKeys + 1 {
		if _, err := gone.Client.Put(t.Context(), fmt.Sprintf("/gone/%d", n), "value"); err != nil {
			t.Fatal(err)
		}
	}
	deletions := 0
	gone.Client.KV = interceptedKV{gone.Client.KV, func() error {
		deletions++
		startMemory(t, "/new").Close()
		return nil
	}}
	gone.Close()
	all, err := left.Client.Get(t.Context(), "/", clientv3.WithPrefix())
	if err != nil || all.Count != 0 || deletions != 2 {
		t.Errorf("%v after %d deletions, %v", all, deletions, err)
	}
	left.Close()
}

// TestInMemoryReportsFailure checks that the log says when keys cannot be deleted, and that others go on.
func TestInMemoryReportsFailure(t *testing.T) {
	left := startMemory(t, "/left")
	var logged []string
	logger := funcr.New(func(_, entry string) { logged = append(logged, entry) }, funcr.Options{})
	gone, err := StartInMemory(klog.NewContext(t.Context(), logger), "/gone")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gone.Client.Put(t.Context(), "/gone/key", "value"); err != nil {
		t.Fatal(err)
	}
	gone.Client.KV = interceptedKV{gone.Client.KV, func() error { return errors.New("no space") }}
	gone.Close()
	if len(logged) != 1 || !strings.Contains(logged[0], "no space") {
		t.Errorf("the log is %q", logged)
	}
	if _, err := left.Client.Put(t.Context(), "/left/key", "value"); err != nil {
		t.Error(err)
	}
	left.Close()
}

func startMemory(t *testing.T, prefix string) *Connection {
	t.Helper()
	c, err := StartInMemory(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	return c
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
