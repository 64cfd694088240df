package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/scheme"
	kjson "sigs.k8s.io/json"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Codec translates between the stored values of a built-in resource, which are JSON or protobuf, the JSON that is
// served, and objects of its Go type.
type Codec struct {
	definition *resource.Definition
	// values decodes stored values. It sets no defaults: kube-apiserver's and ours were set before an object was stored.
	values runtime.Decoder
}

// unserved decode stored values of the versions that a server may not serve: all that Kubernetes' types have.
var unserved = []runtime.Decoder{
	scheme.Codecs.UniversalDeserializer(), aggregatorscheme.Codecs.UniversalDeserializer(),
}

// Codec returns the codec of a definition in the set.
func (s *Set) Codec(d *resource.Definition) *Codec {
	return &Codec{definition: d, values: s.Codecs.UniversalDeserializer()}
}

// Decode returns the object of a view at a revision. It sets defaults, as kube-apiserver does when it reads, because
// the JSON leaves out empty fields that defaults have filled, and an update compares the object with one that has
// defaults.
func (c *Codec) Decode(view *dynamicstorage.View, revision int64) (runtime.Object, error) {
	if view.Err != nil {
		return nil, view.Err
	}
	obj := reflect.New(reflect.TypeOf(c.definition.Object).Elem()).Interface().(runtime.Object)
	if err := kjson.UnmarshalCaseSensitivePreserveInts(view.Bytes, obj); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", c.definition.Kind, err)
	}
	return obj, c.complete(obj, revision)
}

// complete sets the defaults and the resourceVersion of a decoded object.
func (c *Codec) complete(obj runtime.Object, revision int64) error {
	if c.definition.Default != nil {
		c.definition.Default(obj)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	m.SetResourceVersion(strconv.FormatInt(revision, 10))
	return nil
}

// Encode returns the bytes to store, and the view of them.
func (c *Codec) Encode(_ context.Context, obj runtime.Object) ([]byte, *dynamicstorage.View, error) {
	view, err := c.view(obj)
	if err != nil {
		return nil, nil, err
	}
	stored := c.definition.Storage
	if stored == nil {
		return view.Bytes, view, nil
	}
	converted, err := stored.Encode(obj)
	if err != nil {
		return nil, nil, err
	}
	value, _, err := marshal(converted, stored.GroupVersion.WithKind(stored.Kind))
	return value, view, err
}

// Views returns the views of stored objects. An object that cannot be read only affects its own view.
func (c *Codec) Views(_ context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View, error) {
	views := make([]*dynamicstorage.View, len(entries))
	for n, entry := range entries {
		view, err := c.StoredView(entry)
		if err != nil {
			view = &dynamicstorage.View{Err: err}
		}
		views[n] = view
	}
	return views, nil
}

// Object returns the object of an entry in the served version, with its defaults and its resourceVersion, as Decode
// returns that of a view.
func (c *Codec) Object(entry *dynamicstorage.Entry) (runtime.Object, error) {
	obj, err := c.stored(entry)
	if err != nil {
		return nil, err
	}
	return obj, c.complete(obj, entry.Revision)
}

// stored returns the object of an entry as it was stored, but in the served version.
func (c *Codec) stored(entry *dynamicstorage.Entry) (runtime.Object, error) {
	if entry.Err != nil {
		return nil, entry.Err
	}
	obj, kind, err := c.values.Decode(entry.Value, nil, nil)
	for _, decoder := range unserved {
		if !runtime.IsNotRegisteredError(err) {
			break
		}
		obj, kind, err = decoder.Decode(entry.Value, nil, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("decoding stored %s: %w", c.definition.Kind, err)
	}
	if kind.Kind != c.definition.Kind {
		return nil, fmt.Errorf("decoding stored %s: it is a %s", c.definition.Kind, kind.Kind)
	}
	if obj, err = c.served(obj); err != nil {
		return nil, fmt.Errorf("converting stored %s: %w", c.definition.Kind, err)
	}
	return obj, nil
}

// served returns an object of any version of the kind in the served version. An object that a server of another release
// or configuration has stored may have any version that Kubernetes' types have.
func (c *Codec) served(obj runtime.Object) (runtime.Object, error) {
	d := c.definition
	if reflect.TypeOf(obj) == reflect.TypeOf(d.Object) {
		return obj, nil
	}
	storage := d.Object
	if d.Storage != nil {
		storage = d.Storage.Object
	}
	old := obj
	obj, err := resource.As(old, storage)
	if err == nil && d.Upgrade != nil && obj != old {
		err = d.Upgrade(old, obj)
	}
	if err != nil {
		return nil, err
	}
	if d.Storage != nil {
		if obj, err = d.Storage.Decode(obj); err != nil {
			return nil, err
		}
	}
	obj.GetObjectKind().SetGroupVersionKind(d.GroupVersionKind())
	return obj, nil
}

// StoredView returns the view of an entry. Every version of a built-in resource can be read from every other.
func (c *Codec) StoredView(entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	obj, err := c.stored(entry)
	if err != nil {
		return nil, err
	}
	view, err := c.view(obj)
	if err == nil && bytes.Equal(view.Bytes, entry.Value) {
		view.Bytes = entry.Value // one copy serves both
	}
	return view, err
}

// EncodeStored is Encode.
func (c *Codec) EncodeStored(ctx context.Context, obj runtime.Object) ([]byte, *dynamicstorage.View, error) {
	return c.Encode(ctx, obj)
}

// AsStored returns obj: an object of a Go type reads back as it was stored.
func (c *Codec) AsStored(_ context.Context, obj runtime.Object) (runtime.Object, error) {
	return obj, nil
}

// KeepsLabels returns true: no webhook converts built-in resources.
func (c *Codec) KeepsLabels() bool { return true }

// HasVersion returns true: an object is read alike from each version that it is stored in.
func (c *Codec) HasVersion(*dynamicstorage.Entry) bool { return true }

// IsStorageVersion returns true: no view has to be converted by a webhook.
func (c *Codec) IsStorageVersion() bool { return true }

// view returns the view of an object in the served version.
func (c *Codec) view(obj runtime.Object) (*dynamicstorage.View, error) {
	value, at, err := marshal(obj, c.definition.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	view := &dynamicstorage.View{Bytes: value, At: at, Labels: dynamicstorage.PairsOf(m.GetLabels())}
	if fields := c.definition.Fields; fields != nil {
		view.Fields = dynamicstorage.PairsOf(fields.Of(obj))
	}
	return view, nil
}

// marshal returns the JSON of an object without its resourceVersion, and the offset at which that is inserted. The
// object is as before when marshal returns.
func marshal(obj runtime.Object, kind schema.GroupVersionKind) (value []byte, at int, err error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, 0, err
	}
	defer func(version, link string, kind schema.GroupVersionKind) {
		m.SetResourceVersion(version)
		m.SetSelfLink(link)
		obj.GetObjectKind().SetGroupVersionKind(kind)
	}(m.GetResourceVersion(), m.GetSelfLink(), obj.GetObjectKind().GroupVersionKind())
	m.SetResourceVersion("")
	m.SetSelfLink("")
	obj.GetObjectKind().SetGroupVersionKind(kind)
	if value, err = json.Marshal(obj); err != nil {
		return nil, 0, fmt.Errorf("encoding %s: %w", kind.Kind, err)
	}
	at, err = versionOffset(value, m)
	return value, at, err
}

// versionOffset returns where the resourceVersion is inserted into the JSON of an object: behind its uid, as in a Go
// type's JSON, or as the first member of its metadata.
func versionOffset(value []byte, m metav1.Object) (int, error) {
	before := []byte(`"metadata":{`)
	if created := m.GetCreationTimestamp(); m.GetUID() != "" && !created.IsZero() {
		// The creationTimestamp or the generation follows the uid. A name before it cannot contain its quotes unescaped.
		uid, err := json.Marshal(m.GetUID())
		if err != nil {
			return 0, err
		}
		before = slices.Concat([]byte(`"uid":`), uid, []byte(`,`))
	}
	return bytes.Index(value, before) + len(before), nil
}
