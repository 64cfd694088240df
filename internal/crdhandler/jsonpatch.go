package crdhandler

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/crdhandler/documentpatch"
	"github.com/crd-server/crd-server/internal/objectjson"
)

// patchAsJSON applies a JSON patch or a merge patch to the JSON of an object in the version of the endpoint.
func (p *patchRequest) patchAsJSON(ctx context.Context, live runtime.Object) (runtime.Object, error) {
	if obj, ok := p.mergePatched(ctx, live); ok {
		return obj, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := p.scope
	info, ok := runtime.SerializerInfoForMediaType(s.serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		return nil, fmt.Errorf("no serializer defined for %v", runtime.ContentTypeJSON)
	}
	before, err := p.document(info, live)
	if err != nil {
		return nil, err
	}
	patch := documentpatch.Patch{Type: p.patchType, Body: p.body, Strict: p.validation.looks()}
	after, found, err := patch.Apply(ctx, before)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := budget.Reserve(ctx, len(after)); err != nil { // a small patch may copy much
		return nil, err
	}
	if err := checkBody(after, runtime.ContentTypeJSON); err != nil {
		return nil, err
	}
	obj, err := s.newObject()
	if err != nil {
		return nil, err
	}
	unknown, err := p.decodePatched(info, after, obj)
	if isAnswer(err) {
		return nil, err
	}
	if err == nil {
		err = p.validation.judge(ctx, append(found, unknown...))
	}
	if err != nil {
		return nil, invalidPatch(string(after), err)
	}
	return obj, nil
}

// decodePatched decodes a patched document into obj. It returns the fields that strict decoding has found.
func (p *patchRequest) decodePatched(
	info runtime.SerializerInfo, document []byte, obj runtime.Object,
) ([]error, error) {
	s := p.scope
	if unknown, ok := documentpatch.Unversioned(document, s.Kind.Kind); ok && s.Typed {
		if !p.validation.looks() {
			unknown = nil
		}
		return unknown, nil
	}
	err := runtime.DecodeInto(s.serializer.DecoderToVersion(p.validation.serializer(info), s.hub), document, obj)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		return strict.Errors(), nil
	}
	return nil, err
}

// document returns the JSON of an object in the version of the endpoint. A custom resource has that version already.
func (p *patchRequest) document(info runtime.SerializerInfo, obj runtime.Object) ([]byte, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return objectjson.Marshal(u.Object)
	}
	gv := p.scope.Kind.GroupVersion()
	return runtime.Encode(p.scope.serializer.EncoderForVersion(info.Serializer, gv), obj)
}

// invalidPatch returns the answer to a patch whose outcome is not an object of the kind.
func invalidPatch(outcome string, err error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
		field.Invalid(field.NewPath("patch"), outcome, err.Error())})
}
