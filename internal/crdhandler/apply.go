package crdhandler

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/crd-server/crd-server/internal/crdhandler/customresources"
	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/managedfields"
	"github.com/crd-server/crd-server/internal/objectjson"
)

// applyTo merges the applied configuration into the live object, by the fields that its manager owns (W7). Without a
// live object it makes a new one.
func (p *patchRequest) applyTo(ctx context.Context, live runtime.Object) (runtime.Object, error) {
	if !objectmeta.Exists(live) {
		empty, err := p.scope.Interfaces.Creater.New(p.scope.Kind)
		if err != nil {
			return nil, fmt.Errorf("failed to create new object: %w", err)
		}
		live = empty
	}
	applied, plain, err := p.configuration()
	if err != nil {
		return nil, err
	}
	obj, err := p.fields.Apply(ctx, live, applied, p.options.FieldManager, p.forced())
	if err == nil {
		err = p.complete(live, obj)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil || plain { // plain JSON has no duplicate fields
		return obj, err
	}
	return obj, p.checkDuplicates(ctx)
}

// configuration returns the configuration that is applied. plain says that it is JSON without duplicate fields.
func (p *patchRequest) configuration() (applied *unstructured.Unstructured, plain bool, err error) {
	applied = &unstructured.Unstructured{}
	if p.patchType == types.ApplyYAMLPatchType {
		applied.Object, plain = objectjson.UnmarshalYAML(p.body)
	}
	if !plain {
		mediaType := runtime.ContentTypeCBOR
		if p.patchType == types.ApplyYAMLPatchType {
			mediaType = runtime.ContentTypeYAML // whatever bodyType says: it is parsed as YAML
		}
		if err := checkBody(p.body, mediaType); err != nil {
			return nil, false, err
		}
		read, _ := p.unmarshal()
		applied.Object = map[string]any{}
		if err := read(p.body, &applied.Object); err != nil {
			return nil, false, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		if err := checkObject(applied, mediaType); err != nil {
			return nil, false, err
		}
	}
	return applied, plain, objectmeta.CheckUnstructuredEntries(applied.Object)
}

// complete returns an error if the merged object has too many entries in its metadata, or lacks defaults because they
// were too large. The merge itself cannot return it. A merge that changes nothing sets no defaults: an object that is
// stored in another version may lack those of this one.
func (p *patchRequest) complete(live, obj runtime.Object) error {
	defaulter, custom := p.scope.Interfaces.Defaulter.(customresources.Defaulter)
	if !custom {
		return nil
	}
	merged, ok := obj.(*unstructured.Unstructured)
	if !ok || !managedfields.DiffersOtherwise(obj, live) {
		return nil
	}
	if err := objectmeta.CheckUnstructuredEntries(merged.Object); err != nil {
		return err
	}
	return defaulter.Complete(merged)
}

// checkDuplicates looks for duplicate fields in an applied configuration.
func (p *patchRequest) checkDuplicates(ctx context.Context) error {
	if !p.validation.looks() {
		return nil
	}
	_, readStrictly := p.unmarshal()
	if err := readStrictly(p.body, &map[string]any{}); err != nil {
		if p.validation == metav1.FieldValidationStrict {
			return apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
		}
		warnStrict(ctx, []error{err})
	}
	return nil
}

// unmarshal returns the functions that decode an applied configuration. The second one refuses duplicate fields.
func (p *patchRequest) unmarshal() (read, readStrictly func([]byte, any) error) {
	if p.patchType == types.ApplyCBORPatchType {
		return cbor.Unmarshal, cbor.Unmarshal // which refuses duplicates in any case
	}
	return yaml.Unmarshal, yaml.UnmarshalStrict
}
