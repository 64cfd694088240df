package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/component-base/metrics"
)

// The metrics of kube-apiserver about requests to etcd. Operations are get, list, count, create, update, delete and
// compact.
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

// Metrics are the metrics of all servers in the process.
var Metrics = []metrics.Registerable{etcdLatency, etcdRequests, etcdErrors}

// measuredKV measures the requests of a client.
type measuredKV struct {
	clientv3.KV
	folders *Folders
	served  func(group, plural string) bool
}

// Measure adds metrics to the requests of a client. The function reports whether a custom resource is served; those
// that were added to the folders are.
func Measure(client *clientv3.Client, folders *Folders, served func(group, plural string) bool) {
	client.KV = &measuredKV{KV: client.KV, folders: folders, served: served}
}

// resourceOf returns the labels of a key. Keys of resources that are not served have empty ones, because series stay
// for ever.
func (kv *measuredKV) resourceOf(key string) (group, plural string) {
	resource := kv.folders.Resource(key)
	if kv.folders.Has(resource) || kv.served(resource.Group, resource.Resource) {
		return resource.Group, resource.Resource
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

func (kv *measuredKV) Compact(
	ctx context.Context, revision int64, opts ...clientv3.CompactOption,
) (*clientv3.CompactResponse, error) {
	began := time.Now()
	response, err := kv.KV.Compact(ctx, revision, opts...)
	kv.observe("compact", "", began, err)
	return response, err
}

func (kv *measuredKV) Txn(ctx context.Context) clientv3.Txn {
	return &measuredTxn{Txn: kv.KV.Txn(ctx), kv: kv}
}

// measuredTxn is a transaction. Mostly it writes one key; if there are more operations, the first one stands for all.
type measuredTxn struct {
	clientv3.Txn
	kv     *measuredKV
	absent bool // the key must not exist
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
	case t.op.IsGet():
		operation = "get"
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
