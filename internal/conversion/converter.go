package conversion

import (
	"context"
	"fmt"
	"maps"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/validation"
)

// Converter converts the objects of one CRD. It is safe for concurrent use.
type Converter struct {
	set *validation.Set
	// safe copies the objects it converts, unsafe may modify them.
	safe, unsafe runtime.ObjectConvertor
	// inPlace means that unsafe modifies the object and returns it: there is no webhook.
	inPlace bool
	// calls limits the concurrent calls of the webhook.
	calls *semaphore.Weighted
}

// maxCalls is the maximum number of concurrent calls of a webhook. Further calls wait.
const maxCalls = 100

// Convert converts objects to a version and returns them in the same order. It returns objects of that version as they
// are, and converts all others together, with one request if there is a webhook. It then coerces them to the schema of
// the version (T14, T15), but does not default them. It does not modify objs.
//
// Convert returns when ctx is done. A call of the webhook continues for up to 30 seconds, because the library takes no
// context, and may read objs during that time. See docs/upstream.md, "Conversion webhooks take no context".
func (c *Converter) Convert(
	ctx context.Context, objs []*unstructured.Unstructured, to schema.GroupVersion,
) ([]*unstructured.Unstructured, error) {
	apiVersion := to.String()
	var pending []int
	for i, obj := range objs {
		if obj.GetAPIVersion() != apiVersion {
			pending = append(pending, i)
		}
	}
	if len(pending) == 0 {
		return objs, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	foreign := make([]*unstructured.Unstructured, len(pending))
	for n, i := range pending {
		foreign[n] = objs[i]
	}
	converted, err := c.convertWithin(ctx, foreign, to)
	if err != nil {
		return nil, err
	}
	result := append([]*unstructured.Unstructured(nil), objs...)
	for n, i := range pending {
		if _, err := c.set.Coerce(converted[n].Object, validation.CoerceOptions{}); err != nil {
			return nil, err
		}
		result[i] = converted[n]
	}
	return result, nil
}

// KeepsMetadata reports whether conversion leaves metadata unchanged, which is so without a webhook.
func (c *Converter) KeepsMetadata() bool { return c.inPlace }

// ObjectConvertor returns the converter for managed fields, which compare objects before they are coerced. It copies
// the objects.
func (c *Converter) ObjectConvertor() runtime.ObjectConvertor {
	return c.safe
}

// convertWithin calls convert and returns when ctx is done.
func (c *Converter) convertWithin(
	ctx context.Context, objs []*unstructured.Unstructured, to schema.GroupVersion,
) ([]*unstructured.Unstructured, error) {
	if c.inPlace {
		return c.convert(objs, to)
	}
	if err := c.calls.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("waiting for calls of the conversion webhook: %w", err)
	}
	var (
		converted []*unstructured.Unstructured
		failure   error
	)
	done := make(chan struct{})
	go func() { // ends with the call of the webhook, see Convert
		defer close(done)
		defer c.calls.Release(1)
		defer func() {
			// caused by the response; in the caller's goroutine it would fail one request
			if reason := recover(); reason != nil {
				failure = fmt.Errorf("conversion webhook: panic: %v", reason)
			}
		}()
		converted, failure = c.convert(objs, to)
	}()
	select {
	case <-done:
		return converted, failure
	case <-ctx.Done():
		return nil, fmt.Errorf("conversion webhook: %w", ctx.Err())
	}
}

// convert converts objects, none of which has the target version. A single object is not put into a list, because the
// error messages of the library differ.
func (c *Converter) convert(
	objs []*unstructured.Unstructured, to schema.GroupVersion,
) ([]*unstructured.Unstructured, error) {
	if len(objs) == 1 {
		out, err := c.unsafe.ConvertToVersion(c.private(objs[0]), to)
		if err != nil {
			return nil, err
		}
		converted, ok := out.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("conversion to %v returned a %T", to, out)
		}
		return []*unstructured.Unstructured{converted}, nil
	}

	// The list has the kind of its items, because error messages contain it and clients do not know the list kind.
	list := &unstructured.UnstructuredList{Items: make([]unstructured.Unstructured, len(objs))}
	list.SetGroupVersionKind(objs[0].GroupVersionKind())
	for i, obj := range objs {
		list.Items[i] = *c.private(obj)
	}
	out, err := c.unsafe.ConvertToVersion(list, to)
	if err != nil {
		return nil, err
	}
	convertedList, ok := out.(*unstructured.UnstructuredList)
	if !ok || len(convertedList.Items) != len(objs) {
		return nil, fmt.Errorf("conversion of %d objects to %v returned a %T", len(objs), to, out)
	}
	converted := make([]*unstructured.Unstructured, len(objs))
	for i := range convertedList.Items {
		converted[i] = &convertedList.Items[i]
	}
	return converted, nil
}

// private returns a copy of the object that the library may modify. Without a webhook the copy becomes the result, so
// it must be deep. With a webhook the library sets only the type of the copy.
func (c *Converter) private(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if c.inPlace {
		return obj.DeepCopy()
	}
	return &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
}
