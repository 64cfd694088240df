package crdhandler

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crd-server/crd-server/internal/crdhandler/customresources"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
	"github.com/crd-server/crd-server/internal/objectjson"
)

// newStore runs a store until the test ends. By default it uses the etcd of the package, with the prefix of the test.
func newStore(t testing.TB, options dynamicstorage.Options) *dynamicstorage.Store {
	t.Helper()
	if options.Client == nil {
		options.Client = etcd.Client
	}
	if options.Prefix == "" {
		options.Prefix = etcd.Prefix(t)
	}
	store, err := dynamicstorage.New(options)
	if err != nil {
		t.Fatal(err)
	}
	etcdtest.Run(t, store.Run)
	return store
}

// plainCodec serves objects as they are stored: without a schema, with spec.color selectable.
type plainCodec struct{}

func (plainCodec) Decode(view *dynamicstorage.View, revision int64) (runtime.Object, error) {
	return (&customresources.Codec{}).Decode(view, revision)
}

func (plainCodec) Encode(_ context.Context, obj runtime.Object) ([]byte, *dynamicstorage.View, error) {
	value, _, err := objectjson.MarshalObject(obj.(*unstructured.Unstructured).Object)
	return value, nil, err
}

func (c plainCodec) StoredView(entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	views, err := c.views(context.Background(), []*dynamicstorage.Entry{entry})
	if err != nil {
		return nil, err
	}
	return views[0], views[0].Err
}

func (c plainCodec) EncodeStored(ctx context.Context, obj runtime.Object) ([]byte, *dynamicstorage.View, error) {
	return c.Encode(ctx, obj)
}

func (plainCodec) AsStored(_ context.Context, obj runtime.Object) (runtime.Object, error) {
	return obj, nil
}

func (plainCodec) KeepsLabels() bool                     { return true }
func (plainCodec) IsStorageVersion() bool                { return true }
func (plainCodec) HasVersion(*dynamicstorage.Entry) bool { return true }

func (plainCodec) views(_ context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View, error) {
	views := make([]*dynamicstorage.View, len(entries))
	for n, entry := range entries {
		obj := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(entry.Value, &obj.Object); err != nil {
			views[n] = &dynamicstorage.View{Err: err}
			continue
		}
		value, at, err := objectjson.MarshalObject(obj.Object)
		if err != nil {
			return nil, err
		}
		color, _, _ := unstructured.NestedString(obj.Object, "spec", "color")
		views[n] = &dynamicstorage.View{
			Bytes: value, At: at, Labels: dynamicstorage.PairsOf(obj.GetLabels()),
			Fields: dynamicstorage.PairsOf(map[string]string{"spec.color": color}),
		}
	}
	return views, nil
}
