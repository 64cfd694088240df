package definitions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Codec translates between stored CRDs (v1beta1, R10), served CRDs (v1) and the internal version in memory.
type Codec struct{}

// Decode returns the CRD of a view at a revision.
func (Codec) Decode(view *dynamicstorage.View, revision int64) (runtime.Object, error) {
	if view.Err != nil {
		return nil, view.Err
	}
	crd := &apiextensions.CustomResourceDefinition{}
	if err := runtime.DecodeInto(crds.Codecs.UniversalDecoder(apiextensions.SchemeGroupVersion), view.Bytes,
		crd); err != nil {
		return nil, fmt.Errorf("decoding CustomResourceDefinition: %w", err)
	}
	crd.ResourceVersion = strconv.FormatInt(revision, 10)
	return crd, nil
}

// Encode returns the bytes to store, and the view of them. Making the view from the bytes would decode them again.
func (Codec) Encode(_ context.Context, obj runtime.Object) ([]byte, *dynamicstorage.View, error) {
	parts, err := crds.NewParts(obj.(*apiextensions.CustomResourceDefinition))
	if err != nil {
		return nil, nil, err
	}
	value, err := parts.Stored()
	if err != nil {
		return nil, nil, err
	}
	view, err := viewOf(parts)
	return value, view, err
}

// StoredView returns the view of an entry. CRDs are served in one version only.
func (c Codec) StoredView(entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	return c.view(entry)
}

// EncodeStored is Encode.
func (c Codec) EncodeStored(ctx context.Context, obj runtime.Object) ([]byte, *dynamicstorage.View, error) {
	return c.Encode(ctx, obj)
}

// AsStored returns obj: an object of a Go type reads back as it was stored.
func (Codec) AsStored(_ context.Context, obj runtime.Object) (runtime.Object, error) {
	return obj, nil
}

// KeepsLabels returns true: no webhook converts CRDs.
func (Codec) KeepsLabels() bool { return true }

// HasVersion returns true: a CRD is read alike from each version that it is stored in.
func (Codec) HasVersion(*dynamicstorage.Entry) bool { return true }

// IsStorageVersion returns true: no view of a CRD has to be converted by a webhook.
func (Codec) IsStorageVersion() bool { return true }

// Views returns the views of stored CRDs, in v1. A CRD that cannot be read only affects its own view.
func (c Codec) Views(_ context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View, error) {
	views := make([]*dynamicstorage.View, len(entries))
	for n, entry := range entries {
		view, err := c.view(entry)
		if err != nil {
			view = &dynamicstorage.View{Err: err}
		}
		views[n] = view
	}
	return views, nil
}

func (Codec) view(entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	if entry.Err != nil {
		return nil, entry.Err
	}
	internal, err := crds.DecodeDefinition(entry.Value, entry.Revision)
	if err != nil {
		return nil, err
	}
	parts, err := crds.NewParts(internal)
	if err != nil {
		return nil, err
	}
	return viewOf(parts)
}

// viewOf returns the view of a CRD, in v1.
func viewOf(parts *crds.Parts) (*dynamicstorage.View, error) {
	crd, err := crds.ToV1(parts.Bare)
	if err != nil {
		return nil, err
	}
	crd.SelfLink = "" //lint:ignore SA1019 servers no longer set it, but clients may send it
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	value, at, err := encodeSplicedDefinition(crd)
	if err != nil {
		return nil, fmt.Errorf("encoding CustomResourceDefinition %s: %w", crd.Name, err)
	}
	// The schemas follow the metadata, so the offset of the resourceVersion stays the same.
	return &dynamicstorage.View{Bytes: parts.Complete(value), At: at, Labels: dynamicstorage.PairsOf(crd.Labels)}, nil
}

// encodeSplicedDefinition is objectjson.MarshalObject for a CRD. It modifies crd.
func encodeSplicedDefinition(crd *apiextensionsv1.CustomResourceDefinition) (value []byte, at int, err error) {
	crd.ResourceVersion = ""
	if value, err = json.Marshal(crd); err != nil {
		return nil, 0, err
	}
	before := []byte(`"metadata":{`)
	if crd.UID != "" && !crd.CreationTimestamp.IsZero() {
		// The creationTimestamp or the generation follows the uid. A name before it cannot contain its quotes
		// unescaped.
		if before, err = json.Marshal(crd.UID); err != nil {
			return nil, 0, err
		}
		before = slices.Concat([]byte(`"uid":`), before, []byte(`,`))
	}
	return value, bytes.Index(value, before) + len(before), nil
}
