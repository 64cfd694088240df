package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/crd-server/crd-server/internal/crdhandler/documentpatch"
)

// mergeStrategically applies a strategic merge patch to a CustomResourceDefinition, which has a Go type as the patch
// needs it (C1).
func (p *patchRequest) mergeStrategically(ctx context.Context, live runtime.Object) (runtime.Object, error) {
	objects, gv := p.scope.Interfaces, p.scope.Kind.GroupVersion()
	versioned, err := objects.Convertor.ConvertToVersion(live, gv)
	if err != nil {
		return nil, err
	}
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(versioned)
	if err != nil {
		return nil, err
	}
	obj, err := objects.Creater.New(p.scope.Kind)
	if err != nil {
		return nil, err
	}
	if err := p.mergeInto(ctx, before, obj); err != nil {
		return nil, err
	}
	objects.Defaulter.Default(obj)
	return objects.Convertor.ConvertToVersion(obj, p.scope.hub)
}

// mergeInto sets obj to the patched content. Its Go type says how lists are merged.
func (p *patchRequest) mergeInto(ctx context.Context, before map[string]any, obj runtime.Object) error {
	patch, found, err := p.patchMembers()
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	after, err := strategicpatch.StrategicMergeMapPatch(before, patch, obj)
	if err != nil {
		return strategicError(err)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(after, obj, p.validation.looks())
	if err != nil {
		strict, isStrict := runtime.AsStrictDecodingError(err)
		if !isStrict {
			return invalidPatch(fmt.Sprintf("%+v", patch), err)
		}
		found = append(found, strict.Errors()...)
	}
	if err := p.validation.judge(ctx, found); err != nil {
		return invalidPatch(fmt.Sprintf("%+v", patch), err)
	}
	return nil
}

// patchMembers decodes the patch. It returns the fields that strict decoding has found in it.
func (p *patchRequest) patchMembers() (patch map[string]any, found []error, err error) {
	patch = map[string]any{}
	if p.validation.looks() {
		found, err = kjson.UnmarshalStrict(p.body, &patch)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(p.body, &patch)
	}
	return patch, found, err
}

// strategicError returns the answer to a strategic merge patch that cannot be applied.
func strategicError(err error) error {
	for _, malformed := range []error{
		mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList,
		mergepatch.ErrBadPatchFormatForRetainKeys, mergepatch.ErrBadPatchFormatForSetElementOrderList,
		mergepatch.ErrUnsupportedStrategicMergePatchFormat,
	} {
		if errors.Is(err, malformed) {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	if errors.Is(err, mergepatch.ErrNoListOfLists) || errors.Is(err, mergepatch.ErrPatchContentNotMatchRetainKeys) {
		return documentpatch.Unprocessable(err)
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{ // else it is logged as an error of this server
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error(),
	}}
}
