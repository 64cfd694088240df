package allocator

import (
	"context"
	"strings"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// faultyKV passes transactions on to etcd, except for those that a test wants to fail.
type faultyKV struct {
	clientv3.KV
	// commit, if set, carries out the transactions that change a key which contains its keys.
	commit atomic.Pointer[fault]
}

type fault struct {
	keys   string
	commit func(ctx context.Context, txn clientv3.Txn) (*clientv3.TxnResponse, error)
}

// fail makes transactions on keys fail until the returned function is called.
func (kv *faultyKV) fail(
	keys string, commit func(ctx context.Context, txn clientv3.Txn) (*clientv3.TxnResponse, error),
) (mend func()) {
	kv.commit.Store(&fault{keys, commit})
	return func() { kv.commit.Store(nil) }
}

func (kv *faultyKV) Txn(ctx context.Context) clientv3.Txn {
	// The context of the transaction does not end with that of the caller.
	return &faultyTxn{Txn: kv.KV.Txn(context.WithoutCancel(ctx)), ctx: ctx, kv: kv}
}

type faultyTxn struct {
	clientv3.Txn
	ctx context.Context
	kv  *faultyKV
	key string
}

func (t *faultyTxn) If(compares ...clientv3.Cmp) clientv3.Txn {
	t.Txn = t.Txn.If(compares...)
	return t
}
func (t *faultyTxn) Else(ops ...clientv3.Op) clientv3.Txn { t.Txn = t.Txn.Else(ops...); return t }

func (t *faultyTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	t.Txn, t.key = t.Txn.Then(ops...), string(ops[0].KeyBytes())
	return t
}

func (t *faultyTxn) Commit() (*clientv3.TxnResponse, error) {
	if f := t.kv.commit.Load(); f != nil && strings.Contains(t.key, f.keys) {
		return f.commit(t.ctx, t.Txn)
	}
	return t.Txn.Commit()
}

var errLost = status.Error(codes.Unavailable, "error reading from server: EOF")

// loseAnswer carries out a transaction, and loses the answer.
func loseAnswer(_ context.Context, txn clientv3.Txn) (*clientv3.TxnResponse, error) {
	if _, err := txn.Commit(); err != nil {
		return nil, err
	}
	return nil, errLost
}

// loseRequest does not carry out a transaction.
func loseRequest(context.Context, clientv3.Txn) (*clientv3.TxnResponse, error) { return nil, errLost }
