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
	// safe copies what it is given, unsafe may modify it.
	safe, unsafe runtime.ObjectConvertor
	// inPlace says that unsafe converts by modifying the object itself.
	inPlace bool
	// calls are the calls of the webhook under way.
	calls *semaphore.Weighted
}

// maxCalls is how many calls of a webhook are under way at one time; more wait.
const maxCalls = 100

// Convert returns the objects in the given version, in their order. Those that are in that version already are returned as
// they are; all others are converted at once, by one request if there is a webhook, and then coerced to the schema of the
// version (T14, T15), not defaulted. The objects given are not modified.
//
// It returns when ctx ends. A call of the webhook goes on without it, for 30 seconds at most, since the library takes no context;
// the objects may be read as long.
func (c *Converter) Convert(ctx context.Context, objs []*unstructured.Unstructured, to schema.GroupVersion) ([]*unstructured.Unstructured, error) {
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

// KeepsMetadata says that converted objects have the metadata of those they were made of: there is no webhook.
func (c *Converter) KeepsMetadata() bool { return c.inPlace }

// ObjectConvertor returns the converter as managed fields want it, which compare objects before they are coerced. It copies
// what it is given.
func (c *Converter) ObjectConvertor() runtime.ObjectConvertor {
	return c.safe
}

// convertWithin is convert until ctx ends.
func (c *Converter) convertWithin(ctx context.Context, objs []*unstructured.Unstructured, to schema.GroupVersion) ([]*unstructured.Unstructured, error) {
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
	go func() { // ends with the call, see Convert
		defer close(done)
		defer c.calls.Release(1)
		defer func() {
			if reason := recover(); reason != nil { // by what the webhook has answered; in the caller's goroutine it would cost one request
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

// convert converts objects none of which is in the target version. A single one goes alone, for the library words its errors
// accordingly.
func (c *Converter) convert(objs []*unstructured.Unstructured, to schema.GroupVersion) ([]*unstructured.Unstructured, error) {
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

	// The list takes the type of its items: errors tell it, and clients know the kind of the items only.
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

// private returns a copy of the object that the library may do its work on. Converted in place, it becomes the result. A
// webhook's result is another object, and nothing but the type is ever set on what was sent.
func (c *Converter) private(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if c.inPlace {
		return obj.DeepCopy()
	}
	return &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
}
