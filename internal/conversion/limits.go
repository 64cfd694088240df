package conversion

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/objectjson"
)

// limited refuses objects that a webhook has made larger than the body of a request may be.
type limited struct{ runtime.ObjectConvertor }

// ConvertToVersion implements runtime.ObjectConvertor.
func (c limited) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	out, err := c.ObjectConvertor.ConvertToVersion(in, to)
	if err != nil {
		return nil, err
	}
	switch out := out.(type) {
	case *unstructured.Unstructured:
		err = checkLimits(out)
	case *unstructured.UnstructuredList:
		for i := 0; i < len(out.Items) && err == nil; i++ {
			err = checkLimits(&out.Items[i])
		}
	}
	if err != nil { // not wrapped: the client has done nothing wrong
		return nil, fmt.Errorf("conversion webhook for %v returned invalid object: %v", in.GetObjectKind().GroupVersionKind(), err)
	}
	return out, nil
}

func checkLimits(obj *unstructured.Unstructured) error {
	return errors.Join(objectjson.CheckValue(obj.Object), objectmeta.CheckUnstructuredEntries(obj.Object))
}
