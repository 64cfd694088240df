package printing

import (
	"encoding/json"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/objectjson"
)

// BoundedYAML is a serializer that bounds the memory for YAML. The YAML library takes up to 800 bytes for a value, and
// indents each value by its level, so that the text of deep objects is many times as long as their JSON.
type BoundedYAML struct{ runtime.NegotiatedSerializer }

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s BoundedYAML) SupportedMediaTypes() []runtime.SerializerInfo {
	all := slices.Clone(s.NegotiatedSerializer.SupportedMediaTypes())
	for n := range all {
		if all[n].MediaType == runtime.ContentTypeYAML {
			all[n].Serializer = yamlEncoder{all[n].Serializer}
		}
	}
	return all
}

// yamlEncoder writes JSON, which is YAML too, instead of YAML that would exceed the budget of a request.
type yamlEncoder struct{ runtime.Serializer }

// Encode implements runtime.Encoder.
func (e yamlEncoder) Encode(obj runtime.Object, w io.Writer) error {
	document, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	if objectjson.ShapeOf(document).YAMLMemory(len(document)) <= budget.Of(int64(len(document))) {
		return e.Serializer.Encode(obj, w)
	}
	_, err = w.Write(append(document, '\n'))
	return err
}
