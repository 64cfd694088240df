package crdhandler

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
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// definitionCodec is the way between stored CRDs (v1beta1, R10), served ones (v1) and the internal version in memory.
type definitionCodec struct{}

var _ objectCodec = definitionCodec{}

func (definitionCodec) decode(view *dynamicstorage.View, revision int64) (runtime.Object, error) {
	if view.Err != nil {
		return nil, view.Err
	}
	crd := &apiextensions.CustomResourceDefinition{}
	if err := runtime.DecodeInto(crds.Codecs.UniversalDecoder(apiextensions.SchemeGroupVersion), view.JSON, crd); err != nil {
		return nil, fmt.Errorf("decoding CustomResourceDefinition: %w", err)
	}
	crd.ResourceVersion = strconv.FormatInt(revision, 10)
	return crd, nil
}

// encode returns the view too: to make it of the bytes they would have to be decoded again.
func (definitionCodec) encode(_ context.Context, obj runtime.Object) ([]byte, *dynamicstorage.View, error) {
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

// unconverted is the same as any view: there is one version.
func (c definitionCodec) unconverted(entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	return c.view(entry)
}

func (c definitionCodec) reencode(ctx context.Context, obj runtime.Object) ([]byte, *dynamicstorage.View, error) {
	return c.encode(ctx, obj)
}

// asStored changes nothing: whatever is made of a CRD is an object of its type.
func (definitionCodec) asStored(_ context.Context, obj runtime.Object) (runtime.Object, error) {
	return obj, nil
}

func (definitionCodec) keepsLabels() bool { return true }
func (definitionCodec) stores() bool      { return true }

// views makes the v1 form of stored CRDs. One that cannot be read spoils its own view only.
func (c definitionCodec) views(_ context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View, error) {
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

func (definitionCodec) view(entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
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

// viewOf is the v1 form of a CRD.
func viewOf(parts *crds.Parts) (*dynamicstorage.View, error) {
	crd, err := crds.ToV1(parts.Bare)
	if err != nil {
		return nil, err
	}
	crd.SelfLink = "" //lint:ignore SA1019 nobody sets it any more, but clients may send it
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	value, at, err := encodeSplicedDefinition(crd)
	if err != nil {
		return nil, fmt.Errorf("encoding CustomResourceDefinition %s: %w", crd.Name, err)
	}
	// The schemas come after the metadata, and so after the place of the resourceVersion.
	return &dynamicstorage.View{JSON: parts.Complete(value), At: at, Labels: dynamicstorage.PairsOf(crd.Labels)}, nil
}

// revisionMark stands for the resourceVersion of a CRD while it is encoded, so that its place in the bytes is
// known without parsing them. It is drawn anew by each process: no client can put it into an object.
var (
	revisionMark   = "revision-" + string(uuid.NewUUID())
	revisionMember = []byte(`"resourceVersion":"` + revisionMark + `",`)
)

// encodeSplicedDefinition is objectjson.MarshalObject for a CRD; it modifies crd.
func encodeSplicedDefinition(crd *apiextensionsv1.CustomResourceDefinition) (value []byte, at int, err error) {
	crd.ResourceVersion = revisionMark
	encoded, err := json.Marshal(crd)
	if err != nil {
		return nil, 0, err
	}
	if at = bytes.Index(encoded, revisionMember); at >= 0 {
		return slices.Delete(encoded, at, at+len(revisionMember)), at, nil
	}
	// Nothing follows the resourceVersion in metadata that was not written by an API server; then it goes first.
	crd.ResourceVersion = ""
	if encoded, err = json.Marshal(crd); err != nil {
		return nil, 0, err
	}
	const opening = `"metadata":{`
	return encoded, bytes.Index(encoded, []byte(opening)) + len(opening), nil
}
