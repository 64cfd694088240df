package customresources

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crd-server/crd-server/internal/crdhandler/schemas"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/objectjson"
	"github.com/crd-server/crd-server/internal/validation"
)

// Codec translates between stored custom resources and objects of one version.
type Codec struct {
	Schemas *schemas.Cached
	// Version is the version of the objects, Storage the version that they are stored in.
	Version, Storage schema.GroupVersion
	// CBOR stores CBOR instead of JSON.
	CBOR bool
	// Admitted is set when mutating admission begins. It may change an object after it was decoded (A5). Without it an
	// encoded object reads back unchanged, so a write knows its view without decoding it.
	Admitted atomic.Bool
}

var _ stored.Codec = &Codec{}

// cborPrefix is the self-described CBOR tag that stored values begin with (RFC 8949, 3.4.6).
var cborPrefix = []byte{0xd9, 0xd9, 0xf7}

// Decode implements stored.Codec.
func (c *Codec) Decode(view *dynamicstorage.View, revision int64) (runtime.Object, error) {
	if view.Err != nil {
		return nil, view.Err
	}
	obj := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(view.Bytes, &obj.Object); err != nil {
		return nil, fmt.Errorf("decoding custom resource: %w", err)
	}
	obj.SetResourceVersion(fmt.Sprint(revision))
	return obj, nil
}

// Encode implements stored.Codec. It converts the object to the storage version.
func (c *Codec) Encode(ctx context.Context, obj runtime.Object) ([]byte, *dynamicstorage.View, error) {
	u := obj.(*unstructured.Unstructured)
	known := !c.Admitted.Load() && c.Version == c.Storage
	if u.GroupVersionKind().GroupVersion() != c.Storage {
		compiled, err := c.Schemas.Get()
		if err != nil {
			return nil, nil, err
		}
		converted, err := compiled.Converter.Convert(ctx, []*unstructured.Unstructured{u}, c.Storage)
		if err != nil {
			return nil, nil, err
		}
		u, known = converted[0], false
	}
	value, at, err := objectjson.MarshalObject(u.Object)
	if err != nil {
		return nil, nil, err
	}
	var view *dynamicstorage.View
	if known {
		if view, err = c.writtenView(u, value, at); err != nil {
			return nil, nil, err
		}
	}
	if c.CBOR {
		value, err = encodeCBOR(u)
	}
	return value, view, err
}

// writtenView returns the view of an object that is stored as value. It is nil if a read will find more in value than
// the object has: the defaults of fields that were removed, as the status of a new object is, or other numbers.
func (c *Codec) writtenView(obj *unstructured.Unstructured, value []byte, at int) (*dynamicstorage.View, error) {
	version, err := c.Schemas.Version(c.Version.Version)
	if err != nil {
		return nil, err
	}
	complete, err := version.HasDefaulted(obj.Object)
	if err != nil || !complete || hasNegativeZero(value) {
		return nil, err
	}
	return c.view(obj, value, at)
}

// hasNegativeZero reports whether JSON may have the number -0, which is read as 0.
func hasNegativeZero(value []byte) bool {
	const number = "-0"
	for {
		at := bytes.Index(value, []byte(number))
		if at < 0 {
			return false
		}
		rest := value[at+len(number):]
		begins := at > 0 && strings.IndexByte(":,[", value[at-1]) >= 0
		if begins && len(rest) > 0 && strings.IndexByte(",]}", rest[0]) >= 0 {
			return true
		}
		value = rest
	}
}

// HasVersion implements stored.Codec. Stored values begin with their version, unless the CRD declares a field that
// sorts before apiVersion.
func (c *Codec) HasVersion(entry *dynamicstorage.Entry) bool {
	rest, ok := bytes.CutPrefix(entry.Value, []byte(`{"apiVersion":"`))
	group, rest, ok2 := bytes.Cut(rest, []byte("/"))
	version, _, ok3 := bytes.Cut(rest, []byte(`"`))
	return ok && ok2 && ok3 && string(group) == c.Version.Group && string(version) == c.Version.Version
}

// KeepsLabels implements stored.Codec: only a conversion webhook can change labels.
func (c *Codec) KeepsLabels() bool {
	compiled, err := c.Schemas.Get()
	return err == nil && compiled.Converter.KeepsMetadata()
}

func encodeCBOR(obj *unstructured.Unstructured) ([]byte, error) {
	written := obj.DeepCopy()
	written.SetResourceVersion("")
	written.SetSelfLink("")
	var buffer bytes.Buffer
	if err := cbor.NewSerializer(Creater, Typer{}).Encode(written, &buffer); err != nil {
		return nil, fmt.Errorf("encoding custom resource: %w", err)
	}
	return buffer.Bytes(), nil
}

// Views makes the views of entries. It decodes each, coerces and defaults it by the schema of the version it is
// stored in, and converts it. Objects that a webhook converts go to it in one request. All others are handled one by
// one, because decoded objects take several times the memory of their bytes. A value that cannot be read only affects
// its own view.
func (c *Codec) Views(ctx context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View, error) {
	compiled, err := c.Schemas.Get()
	if err != nil {
		return nil, err
	}
	views := make([]*dynamicstorage.View, len(entries))
	var foreign []*unstructured.Unstructured
	var indexes []int
	for n, entry := range entries {
		obj, err := decodeStored(entry, compiled.Set)
		switch {
		case err != nil:
			views[n] = &dynamicstorage.View{Err: err}
		case !compiled.Converter.KeepsMetadata() && obj.GroupVersionKind().GroupVersion() != c.Version:
			foreign, indexes = append(foreign, obj), append(indexes, n)
		default:
			one, err := compiled.Converter.Convert(ctx, []*unstructured.Unstructured{obj}, c.Version)
			if err != nil {
				return nil, err
			}
			if views[n], err = c.viewOf(one[0], entry); err != nil {
				return nil, err
			}
		}
	}
	converted, err := compiled.Converter.Convert(ctx, foreign, c.Version)
	if err != nil {
		return nil, err
	}
	for n, obj := range converted {
		if views[indexes[n]], err = c.viewOf(obj, entries[indexes[n]]); err != nil {
			return nil, err
		}
	}
	return views, nil
}

// viewOf returns the view of an object that was decoded from an entry.
func (c *Codec) viewOf(obj *unstructured.Unstructured, entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	value, at, err := objectjson.MarshalObject(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("custom resource %s: %w", entry.Key, err)
	}
	if bytes.Equal(value, entry.Value) {
		value = entry.Value // as it was encoded: one copy serves both
	}
	return c.view(obj, value, at)
}

// view returns the view of an object that was encoded as value.
func (c *Codec) view(obj *unstructured.Unstructured, value []byte, at int) (*dynamicstorage.View, error) {
	version, err := c.Schemas.Version(c.Version.Version)
	if err != nil {
		return nil, err
	}
	return &dynamicstorage.View{
		Bytes: bytes.TrimSuffix(value, []byte("\n")), At: at, Labels: dynamicstorage.PairsOf(obj.GetLabels()),
		Fields: dynamicstorage.PairsOf(version.SelectableFields(obj.Object)),
	}, nil
}

// decodeStored decodes a stored value as upstream's storage does: it drops malformed metadata, repairs a missing
// generation, prunes unknown fields and applies the defaults of the stored version (T2-T4).
func decodeStored(entry *dynamicstorage.Entry, set *validation.Set) (*unstructured.Unstructured, error) {
	if entry.Err != nil {
		return nil, entry.Err
	}
	obj := &unstructured.Unstructured{}
	if bytes.HasPrefix(entry.Value, cborPrefix) {
		if _, _, err := cbor.NewSerializer(Creater, Typer{}).Decode(entry.Value, nil, obj); err != nil {
			return nil, fmt.Errorf("decoding stored custom resource: %w", err)
		}
	} else if err := utiljson.Unmarshal(entry.Value, &obj.Object); err != nil {
		return nil, fmt.Errorf("decoding stored custom resource: %w", err)
	}
	return obj, coerceStored(obj, set)
}

// coerceStored coerces and defaults an object after its stored bytes were decoded.
func coerceStored(obj *unstructured.Unstructured, set *validation.Set) error {
	options := validation.CoerceOptions{DropInvalidMetadata: true, RepairGeneration: true}
	if _, err := set.Coerce(obj.Object, options); err != nil {
		return fmt.Errorf("decoding stored custom resource: %w", err)
	}
	return set.Default(obj.Object, validation.MaxStoredDefaults)
}

// AsStored implements stored.Codec. It converts an object as Encode and views do, without the bytes.
func (c *Codec) AsStored(ctx context.Context, obj runtime.Object) (runtime.Object, error) {
	compiled, err := c.Schemas.Get()
	if err != nil {
		return nil, err
	}
	u := obj.(*unstructured.Unstructured)
	inStorage, err := compiled.Converter.Convert(ctx, []*unstructured.Unstructured{u}, c.Storage)
	if err != nil {
		return nil, err
	}
	if err := coerceStored(inStorage[0], compiled.Set); err != nil {
		return nil, err
	}
	served, err := compiled.Converter.Convert(ctx, inStorage, u.GroupVersionKind().GroupVersion())
	if err != nil {
		return nil, err
	}
	return served[0], nil
}

// IsStorageVersion implements stored.Codec.
func (c *Codec) IsStorageVersion() bool { return c.Version == c.Storage }

// StoredView implements stored.Codec.
func (c *Codec) StoredView(entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	compiled, err := c.Schemas.Get()
	if err != nil {
		return nil, err
	}
	obj, err := decodeStored(entry, compiled.Set)
	if err != nil {
		return nil, err
	}
	value, at, err := objectjson.MarshalObject(obj.Object)
	if err != nil {
		return nil, err
	}
	return c.view(obj, value, at)
}

// EncodeStored is Encode for an object in the version it was stored in. An object that cannot be converted to the
// storage version keeps its version.
func (c *Codec) EncodeStored(ctx context.Context, obj runtime.Object) ([]byte, *dynamicstorage.View, error) {
	value, view, err := c.Encode(ctx, obj)
	if err == nil || ctx.Err() != nil {
		return value, view, err
	}
	u := obj.(*unstructured.Unstructured)
	if c.CBOR {
		value, err = encodeCBOR(u)
	} else {
		value, _, err = objectjson.MarshalObject(u.Object)
	}
	return value, nil, err
}
