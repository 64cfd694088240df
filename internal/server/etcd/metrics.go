package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
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
	pb.KVClient
	folders *Folders
	served  func(group, plural string) bool
}

// Measure adds metrics to the requests of the client. The function reports whether a custom resource is served; those
// that were added to the folders are.
func (c *Connection) Measure(folders *Folders, served func(group, plural string) bool) {
	c.Client.KV = clientv3.NewKVFromKVClient(&measuredKV{c.requests, folders, served}, c.Client)
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

func (kv *measuredKV) observe(operation string, key []byte, began time.Time, err error) {
	took := time.Since(began).Seconds()
	group, plural := kv.resourceOf(string(key))
	etcdLatency.WithLabelValues(operation, group, plural).Observe(took)
	etcdRequests.WithLabelValues(operation, group, plural).Inc()
	if err != nil {
		etcdErrors.WithLabelValues(operation, group, plural).Inc()
	}
}

func (kv *measuredKV) Range(
	ctx context.Context, r *pb.RangeRequest, opts ...grpc.CallOption,
) (*pb.RangeResponse, error) {
	operation := "get"
	switch {
	case r.CountOnly:
		operation = "count"
	case len(r.RangeEnd) > 0:
		operation = "list"
	}
	began := time.Now()
	response, err := kv.KVClient.Range(ctx, r, opts...)
	kv.observe(operation, r.Key, began, err)
	return response, err
}

func (kv *measuredKV) Compact(
	ctx context.Context, r *pb.CompactionRequest, opts ...grpc.CallOption,
) (*pb.CompactionResponse, error) {
	began := time.Now()
	response, err := kv.KVClient.Compact(ctx, r, opts...)
	kv.observe("compact", nil, began, err)
	return response, err
}

func (kv *measuredKV) Txn(ctx context.Context, r *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	operation, key := described(r)
	began := time.Now()
	response, err := kv.KVClient.Txn(ctx, r, opts...)
	kv.observe(operation, key, began, err)
	return response, err
}

// described returns the operation of a transaction and its key. Mostly it writes one key; if there are more operations,
// the first one stands for all.
func described(r *pb.TxnRequest) (operation string, key []byte) {
	if len(r.Success) == 0 {
		return "update", nil
	}
	first := r.Success[0]
	if read := first.GetRequestRange(); read != nil {
		return "get", read.Key
	}
	if deletion := first.GetRequestDeleteRange(); deletion != nil {
		return "delete", deletion.Key
	}
	key = first.GetRequestPut().GetKey()
	if len(r.Compare) > 0 && r.Compare[0].Target == pb.Compare_MOD && r.Compare[0].GetModRevision() == 0 {
		return "create", key // the key must not exist
	}
	return "update", key
}
