package crdhandler

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crd-server/crd-server/internal/objectjson"
)

// mergePatched returns a custom resource with a merge patch in it: patchAsJSON without encoding and decoding what the patch does not name,
// which is most of the object. ok is false where there is anything to tell the client of, and nothing has been done.
func (p *patcher) mergePatched(ctx context.Context, live runtime.Object) (obj runtime.Object, ok bool) {
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

// mergedMembers returns the members of a decoded object that a merge patch was applied to, and shares nothing with it. ok is false
// for patches that are none, have duplicate fields, or change the kind of the object.
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
	patched, _, err := documentPatch{patchType: types.MergePatchType, body: body}.apply(ctx, document)
	if err != nil || ctx.Err() != nil {
		return nil, false
	}
	if merged, ok = objectjson.UnmarshalStrict(patched); !ok {
		return nil, false
	}
	return merged, copyUnnamed(merged, live, patch)
}

// namedMembers returns what a patch may see of an object: the members it names, and of objects in both those that it names there.
// It shares them with the object.
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

// copyUnnamed adds what namedMembers left away to what a patch has made of the rest. ok is false if there is no place for it.
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
