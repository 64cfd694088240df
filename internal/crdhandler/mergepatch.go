package crdhandler

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crd-server/crd-server/internal/crdhandler/documentpatch"
	"github.com/crd-server/crd-server/internal/objectjson"
)

// mergePatched applies a merge patch to a custom resource. Unlike patchAsJSON it does not encode and decode the members
// that the patch does not name, which are most of the object. ok is false, and nothing has been done, if there is an
// error or a warning to report. See docs/upstream.md, "Merge patches need whole documents".
func (p *patchRequest) mergePatched(ctx context.Context, live runtime.Object) (obj runtime.Object, ok bool) {
	u, ok := live.(*unstructured.Unstructured)
	if !ok || p.patchType != types.MergePatchType {
		return nil, false
	}
	members, ok := mergedMembers(ctx, u.Object, p.body)
	if !ok || ctx.Err() != nil {
		return nil, false
	}
	obj, err := p.scope.newObject()
	if err != nil {
		return nil, false
	}
	decoder := p.scope.serializer.DecoderToVersion(decodedJSON{members: members, strict: p.validation.looks()}, p.scope.hub)
	return obj, runtime.DecodeInto(decoder, nil, obj) == nil
}

// mergedMembers returns the members of an object after a merge patch. They share nothing with live. ok is false for
// patches that are malformed, have duplicate fields, or change the kind of the object.
func mergedMembers(ctx context.Context, live map[string]any, body []byte) (merged map[string]any, ok bool) {
	patch, ok := objectjson.UnmarshalStrict(body)
	if !ok || ctx.Err() != nil {
		return nil, false
	}
	for name := range patch {
		if strings.EqualFold(name, "kind") || strings.EqualFold(name, "apiVersion") {
			return nil, false
		}
	}
	document, err := objectjson.Marshal(namedMembers(live, patch))
	if err != nil {
		return nil, false
	}
	patched, _, err := documentpatch.Patch{Type: types.MergePatchType, Body: body}.Apply(ctx, document)
	if err != nil || ctx.Err() != nil {
		return nil, false
	}
	if merged, ok = objectjson.UnmarshalStrict(patched); !ok {
		return nil, false
	}
	return merged, copyUnnamed(merged, live, patch)
}

// namedMembers returns the members of an object that a patch names, recursively in objects that both have. The result
// shares them with live.
func namedMembers(live, patch map[string]any) map[string]any {
	named := make(map[string]any, len(patch))
	for name, change := range patch {
		value, ok := live[name]
		if !ok {
			continue
		}
		named[name] = value
		members, ok := value.(map[string]any)
		if changes, ok2 := change.(map[string]any); ok && ok2 {
			named[name] = namedMembers(members, changes)
		}
	}
	return named
}

// copyUnnamed adds copies of the members that namedMembers has left out to the patched members. ok is false if the patch
// has removed a parent of them.
func copyUnnamed(merged, live, patch map[string]any) (ok bool) {
	for name, value := range live {
		change, named := patch[name]
		if !named {
			merged[name] = runtime.DeepCopyJSONValue(value)
			continue
		}
		members, ok := value.(map[string]any)
		changes, ok2 := change.(map[string]any)
		if !ok || !ok2 {
			continue
		}
		into, ok := merged[name].(map[string]any)
		if !ok || !copyUnnamed(into, members, changes) {
			return false
		}
	}
	return true
}

// decodedJSON is the decoder of an object that is decoded already.
type decodedJSON struct {
	members map[string]any
	strict  bool
}

var _ strictDecoder = decodedJSON{}

func (d decodedJSON) IsStrict() bool { return d.strict }

// Decode sets the content of into, which is unstructured. It ignores the bytes.
func (d decodedJSON) Decode(_ []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	into.(runtime.Unstructured).SetUnstructuredContent(d.members)
	gvk := into.GetObjectKind().GroupVersionKind()
	return into, &gvk, nil
}
