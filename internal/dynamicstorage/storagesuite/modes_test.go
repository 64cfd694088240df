package storagesuite

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// shared is the etcd of the tests that do not compact it.
var shared *etcdtest.Etcd

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil { // parallel tests mostly wait
		panic(err)
	}
	os.Exit(etcdtest.Main(m, &shared))
}

// mode is a state of the store in which the tests run.
type mode struct {
	name string
	// cold: the resource is made cold before each use, so that reads load it or go to etcd.
	cold bool
	// late: the feed is behind and etcd does not report its progress, so that consistent reads go to etcd.
	late bool
}

var modes = []mode{{name: "cached"}, {name: "cold", cold: true}, {name: "late", late: true}}

// stored is the prefix of the values in etcd. It shows that they are transformed.
const stored = "test!"

// group is the group of the Pods.
const group = "example.apiserver.k8s.io"

// newStore returns a store of Pods, and its etcd.
func newStore(t *testing.T, m mode, etcd *etcdtest.Etcd) *adapter {
	t.Helper()
	options := dynamicstorage.Options{Client: etcd.Client, Header: header, WaitFor: time.Second / 2}
	if m.late {
		client := lateClient(t, etcd)
		options.Client = client
		options.NewWatcher = func() clientv3.Watcher { return lateWatcher{clientv3.NewWatcher(client)} }
	}
	a := &adapter{cold: m.cold, viewer: dynamicstorage.NewViewer(views), transformer: &transformer{},
		prefix: etcd.Prefix(t)}
	a.transformer.set(storagetesting.NewPrefixTransformer([]byte(stored), false))
	options.Prefix, options.Transform = a.prefix, a.transformer
	var err error
	a.store, err = dynamicstorage.New(options)
	if err != nil {
		t.Fatal(err)
	}
	a.resource = a.store.Resource(group, "pods")
	etcdtest.Run(t, a.store.Run)
	if _, err := a.resource.Snapshot(t.Context(), dynamicstorage.ReadAt{}); err != nil {
		t.Fatal(err)
	}
	return a
}

func header(value []byte) (dynamicstorage.Header, error) {
	var read metav1.PartialObjectMetadata
	err := json.Unmarshal(value, &read)
	return dynamicstorage.Header{Labels: dynamicstorage.PairsOf(read.Labels), Deleting: read.DeletionTimestamp != nil},
		err
}

// transformer is a dynamicstorage.Transformer that may be changed.
type transformer struct {
	current atomic.Pointer[value.Transformer]
}

func (s *transformer) get() value.Transformer  { return *s.current.Load() }
func (s *transformer) set(t value.Transformer) { s.current.Store(&t) }

func (s *transformer) FromStorage(ctx context.Context, data []byte, key string) ([]byte, bool, error) {
	return s.get().TransformFromStorage(ctx, data, value.DefaultContext(key))
}

func (s *transformer) ToStorage(ctx context.Context, data []byte, key string) ([]byte, error) {
	return s.get().TransformToStorage(ctx, data, value.DefaultContext(key))
}

// transform replaces the transformer and drops the cache, as a restart of the server would.
func (a *adapter) transform(t value.Transformer) (revert func()) {
	before := a.transformer.get()
	a.transformer.set(t)
	a.resource.Release()
	return func() {
		a.transformer.set(before)
		a.resource.Release()
	}
}

func (a *adapter) UpdateTransformer(modify storagetesting.TransformerModifier) func() {
	return a.transform(modify(a.transformer.get()))
}

func (a *adapter) UpdatePrefixTransformer(modify storagetesting.PrefixTransformerModifier) func() {
	before := *a.transformer.get().(*storagetesting.PrefixTransformer)
	return a.transform(modify(&before))
}

// failing is a transformer that fails on request.
type failing struct {
	value.Transformer
	fails atomic.Bool
}

var errSynthetic = errors.New("synthetic error")

func (f *failing) TransformFromStorage(ctx context.Context, data []byte, of value.Context) ([]byte, bool, error) {
	if f.fails.Load() {
		return nil, false, errSynthetic
	}
	return f.Transformer.TransformFromStorage(ctx, data, of)
}

// makeFailing returns a function that makes the transformer fail or work again.
func (a *adapter) makeFailing() (set func(bool)) {
	f := &failing{Transformer: a.transformer.get()}
	a.transform(f)
	return func(fails bool) {
		f.fails.Store(fails)
		a.resource.Release()
	}
}

// lateClient returns a client whose etcd claims a version that is too old for progress requests. Its watchers are
// wrapped in lateWatcher.
func lateClient(t *testing.T, etcd *etcdtest.Etcd) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix:" + etcd.Addr().String()},
		Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	client.Maintenance = oldEtcd{client.Maintenance}
	return client
}

type oldEtcd struct{ clientv3.Maintenance }

func (oldEtcd) Status(context.Context, string) (*clientv3.StatusResponse, error) {
	return &clientv3.StatusResponse{Version: "3.5.0"}, nil
}

// lateness is the delay of the responses of a lateWatcher.
const lateness = 10 * time.Millisecond

type lateWatcher struct{ clientv3.Watcher }

// lateResponse is a response that is delivered at due.
type lateResponse struct {
	clientv3.WatchResponse
	due time.Time
}

func (w lateWatcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	in, under, out := w.Watcher.Watch(ctx, key, opts...), make(chan lateResponse, 1000),
		make(chan clientv3.WatchResponse)
	go func() { // ends with the watch
		defer close(under)
		for response := range in {
			under <- lateResponse{response, time.Now().Add(lateness)}
		}
	}()
	go func() { // ends with the goroutine above
		defer close(out)
		for response := range under {
			select {
			case <-time.After(time.Until(response.due)):
			case <-ctx.Done():
			}
			select {
			case out <- response.WatchResponse:
			case <-ctx.Done():
			}
		}
	}()
	return out
}
