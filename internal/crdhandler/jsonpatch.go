package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	kjson "sigs.k8s.io/json"

	"github.com/crd-server/crd-server/internal/objectjson"
)

const (
	// maxPatchOperations is how many operations a JSON patch may have.
	maxPatchOperations = 10000
	// maxPatchCopies is how many bytes the copy operations of a JSON patch may add up to.
	maxPatchCopies = 3 << 20
	// patchAtOnce is how many bytes, of operations and documents multiplied, are worked on without looking after the client: about a second.
	patchAtOnce = 256 << 20
	// maxPatchGrowth is how many times larger a text may get by the library's escapes.
	maxPatchGrowth = 6
)

// The library knows this limit as a variable only, for all its users in the process.
func init() { jsonpatch.AccumulatedCopySizeLimit = maxPatchCopies }

// patchAsJSON applies a JSON patch or a merge patch to an object, by way of its JSON in the version of the endpoint.
func (p *patcher) patchAsJSON(ctx context.Context, live runtime.Object) (runtime.Object, error) {
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
	before, err := s.document(info, live)
	if err != nil {
		return nil, err
	}
	after, found, err := documentPatch{patchType: p.patchType, body: p.body, strict: p.validation.looks()}.apply(ctx, before)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	obj, err := s.newObject()
	if err != nil {
		return nil, err
	}
	decoder := s.serializer.DecoderToVersion(p.validation.serializer(info), s.hub)
	if err := runtime.DecodeInto(decoder, after, obj); err != nil {
		if errors.Is(err, errTooLarge) {
			return nil, err
		}
		strict, isStrict := runtime.AsStrictDecodingError(err)
		if !isStrict {
			return nil, invalidPatch(string(after), err)
		}
		found = append(found, strict.Errors()...)
	}
	if err := p.validation.judge(ctx, found); err != nil {
		return nil, invalidPatch(string(after), err)
	}
	return obj, nil
}

// document returns the JSON of an object. A custom resource is in the version of the endpoint already.
func (s *requestScope) document(info runtime.SerializerInfo, obj runtime.Object) ([]byte, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return objectjson.Marshal(u.Object)
	}
	return runtime.Encode(s.serializer.EncoderForVersion(info.Serializer, s.kind.GroupVersion()), obj)
}

// invalidPatch says that the outcome of a patch is no object of the kind.
func invalidPatch(outcome string, err error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), outcome, err.Error())})
}

// unprocessable says that a patch is well-formed and cannot be applied.
func unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

// documentPatch is a patch that knows nothing of objects: a JSON patch (RFC 6902) or a merge patch (RFC 7386).
type documentPatch struct {
	patchType types.PatchType
	body      []byte
	// strict finds unknown and duplicate fields in the patch itself.
	strict bool
}

// patchOperation names the members an operation of a JSON patch may have.
type patchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// errUnusablePatch answers a patch that the library breaks on.
var errUnusablePatch = errors.New("the patch cannot be applied to the object")

// apply returns the patched document, and what strict decoding found in the patch.
func (p documentPatch) apply(ctx context.Context, document []byte) (patched []byte, found []error, err error) {
	defer func() {
		// The library panics on some operations without the members they need, such as a test without a value.
		if cause := recover(); cause != nil {
			patched, found, err = nil, nil, unprocessable(errUnusablePatch)
		}
	}()
	if p.patchType == types.JSONPatchType {
		return p.applyOperations(ctx, document)
	}
	if p.strict {
		members := map[string]any{}
		if found, err = kjson.UnmarshalStrict(p.body, &members); err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	patched, err = jsonpatch.MergePatch(document, p.body)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	return patched, found, err
}

func (p documentPatch) applyOperations(ctx context.Context, document []byte) (patched []byte, found []error, err error) {
	if p.strict {
		var operations []patchOperation
		if found, err = kjson.UnmarshalStrict(p.body, &operations); err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		for i := range found {
			found[i] = fmt.Errorf("json patch %v", found[i])
		}
	}
	operations, err := jsonpatch.DecodePatch(p.body)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if len(operations) > maxPatchOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, len(operations)))
	}
	patched, err = p.applyInParts(ctx, operations, document)
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err != nil:
		return nil, nil, unprocessable(err)
	}
	return patched, found, nil
}

// applyInParts applies operations, many to a large document a part at a time, and looks after the client in between: each may copy a list, and
// 10,000 of a list of a million items take minutes.
func (p documentPatch) applyInParts(ctx context.Context, operations jsonpatch.Patch, document []byte) (patched []byte, err error) {
	size := len(document) + len(p.body)
	for patched = document; ; {
		part := min(len(operations), max(1, patchAtOnce/(len(patched)+len(p.body))))
		if patched, err = operations[:part].Apply(patched); err != nil {
			return nil, err
		}
		if operations = operations[part:]; len(operations) == 0 || ctx.Err() != nil {
			return patched, nil
		}
		if len(patched) > maxPatchGrowth*size+maxPatchCopies { // the library bounds the copies of a part
			return nil, jsonpatch.NewAccumulatedCopySizeError(maxPatchCopies, int64(len(patched)))
		}
	}
}
