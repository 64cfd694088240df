package crdhandler

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crd-server/crd-server/internal/crdhandler/customresources"
	"github.com/crd-server/crd-server/internal/crdhandler/documentpatch"
)

// mergePatched applies a merge patch to a custom resource. Unlike patchAsJSON it does not encode and decode the members
// that the patch does not name, which are most of the object. ok is false, and nothing has been done, if there is an
// error or a warning to report. See docs/upstream.md, "Merge patches need whole documents".
func (p *patchRequest) mergePatched(ctx context.Context, live runtime.Object) (obj runtime.Object, ok bool) {
	u, ok := live.(*unstructured.Unstructured)
	if !ok || p.patchType != types.MergePatchType {
		return nil, false
	}
	members, ok := documentpatch.MergedMembers(ctx, u.Object, p.body)
	if !ok || ctx.Err() != nil {
		return nil, false
	}
	obj, err := p.scope.newObject()
	if err != nil {
		return nil, false
	}
	decoded := decodedJSON{members: members, strict: p.validation.looks()}
	return obj, runtime.DecodeInto(p.scope.serializer.DecoderToVersion(decoded, p.scope.hub), nil, obj) == nil
}

// decodedJSON is the decoder of an object that is decoded already.
type decodedJSON struct {
	members map[string]any
	strict  bool
}

var _ customresources.StrictDecoder = decodedJSON{}

func (d decodedJSON) IsStrict() bool { return d.strict }

// Decode sets the content of into, which is unstructured. It ignores the bytes.
func (d decodedJSON) Decode(
	_ []byte, _ *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	into.(runtime.Unstructured).SetUnstructuredContent(d.members)
	gvk := into.GetObjectKind().GroupVersionKind()
	return into, &gvk, nil
}
