package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestWritesEndWithAnOutage checks that a write under way ends when etcd stops answering, and that the caller learns
// that it may have been carried out.
func TestWritesEndWithAnOutage(t *testing.T) {
	t.Parallel()
	e := ownEtcd(t)
	client := clientv3.NewCtxClient(context.Background())
	hanging := hangingKV{e.client.KV, make(chan struct{})}
	client.KV, client.Watcher = hanging, sharedWatcher{e.client.Watcher}
	s := run(t, Options{Client: client, Prefix: "/x"})
	done := make(chan error)
	go func() { // ends with the outage
		_, err := s.Resource("g", "p").Update(deadline(t), "x", putting("1"), UpdateOptions{Absent: true})
		done <- err
	}()
	<-hanging.begun
	s.outage.begin(t.Context(), fmt.Errorf("%w: in this test", ErrUnavailable))
	if err := <-done; !errors.Is(err, ErrUnconfirmed) || !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v, want an unconfirmed write", err)
	}
	s.outage.over(t.Context())
}

// hangingKV is an etcd that never answers transactions. It closes begun at the first one.
type hangingKV struct {
	clientv3.KV
	begun chan struct{}
}

func (kv hangingKV) Txn(ctx context.Context) clientv3.Txn { return hangingTxn{ctx, kv.begun} }

type hangingTxn struct {
	ctx   context.Context
	begun chan struct{}
}

func (t hangingTxn) If(...clientv3.Cmp) clientv3.Txn  { return t }
func (t hangingTxn) Then(...clientv3.Op) clientv3.Txn { return t }
func (t hangingTxn) Else(...clientv3.Op) clientv3.Txn { return t }

func (t hangingTxn) Commit() (*clientv3.TxnResponse, error) {
	close(t.begun)
	<-t.ctx.Done()
	return nil, t.ctx.Err()
}
