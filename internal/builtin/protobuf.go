package builtin

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/wire"
)

// protobufType is what Kubernetes' generator of protobuf adds to a Go type.
type protobufType interface{ Marshal() ([]byte, error) }

// ProtobufViewer returns a viewer of the objects in protobuf, or nil if their Go type has none. It makes its views of
// those of a viewer of JSON.
func (c *Codec) ProtobufViewer(json *dynamicstorage.Viewer) *dynamicstorage.Viewer {
	if _, ok := c.definition.Object.(protobufType); !ok {
		return nil
	}
	type views = []*dynamicstorage.View
	return dynamicstorage.NewViewer(func(ctx context.Context, entries []*dynamicstorage.Entry) (views, error) {
		made, err := json.Views(ctx, entries)
		if err != nil {
			return nil, err
		}
		for n, view := range made {
			if made[n], err = c.protobufView(view); err != nil {
				made[n] = &dynamicstorage.View{Err: err}
			}
		}
		return made, nil
	})
}

// protobufView returns a view of JSON in protobuf.
func (c *Codec) protobufView(json *dynamicstorage.View) (*dynamicstorage.View, error) {
	obj, err := c.Decode(json, 0)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	m.SetResourceVersion("") // the writer inserts it
	view := *json
	if view.Bytes, err = obj.(protobufType).Marshal(); err != nil {
		return nil, fmt.Errorf("encoding %s: %w", c.definition.Kind, err)
	}
	if view.At, err = wire.ProtobufVersion(view.Bytes); err != nil {
		return nil, fmt.Errorf("encoding %s: %w", c.definition.Kind, err)
	}
	return &view, nil
}
