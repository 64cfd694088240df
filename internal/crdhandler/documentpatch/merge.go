package documentpatch

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crd-server/crd-server/internal/objectjson"
)

// MergedMembers returns the members of an object after a merge patch. They share nothing with live. ok is false for
// patches that are malformed, have duplicate fields, or change the kind of the object.
func MergedMembers(ctx context.Context, live map[string]any, body []byte) (merged map[string]any, ok bool) {
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
	patched, _, err := Patch{Type: types.MergePatchType, Body: body}.Apply(ctx, document)
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

// copyUnnamed adds copies of the members that namedMembers has left out to the patched members. ok is false if the
// patch has removed a parent of them.
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
