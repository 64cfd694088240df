package server

import (
	"context"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/crd-server/crd-server/internal/crds"
)

// What kube-apiserver says of its requests to etcd, under the same names. Operations are get, list, count, create, update, delete
// and compact.
var (
	etcdLatency = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Name: "etcd_request_duration_seconds",
		Help: "Etcd request latency in seconds for each operation and object type.",
		Buckets: []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3,
			4, 5, 6, 8, 10, 15, 20, 30, 45, 60},
		StabilityLevel: metrics.ALPHA,
	}, etcdLabels)
	etcdRequests = metrics.NewCounterVec(&metrics.CounterOpts{
		Name:           "etcd_requests_total",
		Help:           "Etcd request counts for each operation and object type.",
		StabilityLevel: metrics.ALPHA,
	}, etcdLabels)
	etcdErrors = metrics.NewCounterVec(&metrics.CounterOpts{
		Name:           "etcd_request_errors_total",
		Help:           "Etcd failed request counts for each operation and object type.",
		StabilityLevel: metrics.ALPHA,
	}, etcdLabels)
	etcdLabels = []string{"operation", "group", "resource"}
)

var registerEtcd = sync.OnceFunc(func() { legacyregistry.MustRegister(etcdLatency, etcdRequests, etcdErrors) })

// measuredKV is a connection to etcd whose requests are measured.
type measuredKV struct {
	clientv3.KV
	prefix string
	table  *crds.Table
}

// measure has the requests of a client measured.
func measure(client *clientv3.Client, prefix string, table *crds.Table) {
	client.KV = &measuredKV{KV: client.KV, prefix: strings.TrimRight(prefix, "/") + "/", table: table}
}

// resourceOf returns the resource of a key. Only those that are served have a name of their own here: others would stay for ever.
func (kv *measuredKV) resourceOf(key string) (group, plural string) {
	below, ours := strings.CutPrefix(key, kv.prefix)
	if !ours {
		return "", ""
	}
	group, below, _ = strings.Cut(below, "/")
	plural, _, _ = strings.Cut(below, "/")
	if _, served := kv.table.Get(plural + "." + group); served || group == "apiextensions.k8s.io" && plural == "customresourcedefinitions" {
		return group, plural
	}
	return "", ""
}

func (kv *measuredKV) observe(operation, key string, began time.Time, err error) {
	took := time.Since(began).Seconds()
	group, plural := kv.resourceOf(key)
	etcdLatency.WithLabelValues(operation, group, plural).Observe(took)
	etcdRequests.WithLabelValues(operation, group, plural).Inc()
	if err != nil {
		etcdErrors.WithLabelValues(operation, group, plural).Inc()
	}
}

func (kv *measuredKV) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	began, op := time.Now(), clientv3.OpGet(key, opts...)
	operation := "get"
	switch {
	case op.IsCountOnly():
		operation = "count"
	case len(op.RangeBytes()) > 0:
		operation = "list"
	}
	response, err := kv.KV.Get(ctx, key, opts...)
	kv.observe(operation, key, began, err)
	return response, err
}

func (kv *measuredKV) Compact(ctx context.Context, revision int64, opts ...clientv3.CompactOption) (*clientv3.CompactResponse, error) {
	began := time.Now()
	response, err := kv.KV.Compact(ctx, revision, opts...)
	kv.observe("compact", "", began, err)
	return response, err
}

func (kv *measuredKV) Txn(ctx context.Context) clientv3.Txn {
	return &measuredTxn{Txn: kv.KV.Txn(ctx), kv: kv}
}

// measuredTxn is a transaction that writes one key.
type measuredTxn struct {
	clientv3.Txn
	kv     *measuredKV
	absent bool // it is done if there is no such key
	op     clientv3.Op
}

func (t *measuredTxn) If(compares ...clientv3.Cmp) clientv3.Txn {
	if len(compares) > 0 {
		c := compares[0].GetCompare()
		t.absent = c.Target == pb.Compare_MOD && c.GetModRevision() == 0
	}
	t.Txn = t.Txn.If(compares...)
	return t
}

func (t *measuredTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	if len(ops) > 0 {
		t.op = ops[0]
	}
	t.Txn = t.Txn.Then(ops...)
	return t
}

func (t *measuredTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	t.Txn = t.Txn.Else(ops...)
	return t
}

func (t *measuredTxn) Commit() (*clientv3.TxnResponse, error) {
	operation := "update"
	switch {
	case t.op.IsDelete():
		operation = "delete"
	case t.absent:
		operation = "create"
	}
	began := time.Now()
	response, err := t.Txn.Commit()
	t.kv.observe(operation, string(t.op.KeyBytes()), began, err)
	return response, err
}
