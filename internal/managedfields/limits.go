package managedfields

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// The library's work grows faster than its objects: with the square of the largest map or list, with the lengths of all
// paths together, and with the number of managers times all of these. A call of the library cannot be interrupted, so
// these limits hold it to about a second.
// See docs/upstream.md, "Quadratic inserts into path sets" and "Sets of deep paths".
const (
	// maxWidth is the number of fields in one map or set, or of keys in all items of one list.
	maxWidth = 10_000
	// maxSteps is the sum of the lengths of the paths of all fields, in both objects and in their managed fields.
	maxSteps = 1_000_000
	// maxManagerSteps is the product of the number of managers and the sum above.
	maxManagerSteps = 10_000_000
	// maxMistyped is the number of items of atomic lists with another type than that of the schema. The library makes an
	// error of 200 bytes of each.
	maxMistyped = 100_000
)

// libraryWork is what the library has to work on.
type libraryWork struct {
	walk
	width, steps, managers, mistyped int
}

// checkWork returns an error that names the limit if the library would have too much to do with objects of the type of
// kind. The error is that of ctx if it is done.
func checkWork(ctx context.Context, kind *typed.TypedValue, objects ...runtime.Object) error {
	work := &libraryWork{walk: newWalk(ctx, kind)}
	for _, obj := range objects {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			work.addObject(u.Object)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return work.exceeded()
}

// exceeded returns an error that names the limit that the work exceeds.
func (w *libraryWork) exceeded() error {
	switch {
	case w.width > maxWidth:
		return tooMuchWork("one map or list has more than %d fields", maxWidth)
	case w.steps > maxSteps:
		return tooMuchWork("the paths of all fields have more than %d elements", maxSteps)
	case w.managers*w.steps > maxManagerSteps:
		return tooMuchWork("the number of managers times the elements of the paths of all fields is more than %d",
			maxManagerSteps)
	case w.mistyped > maxMistyped:
		return tooMuchWork("more than %d items of lists have a wrong type", maxMistyped)
	}
	return nil
}

func tooMuchWork(format string, limit int) error {
	return apierrors.NewRequestEntityTooLargeError(
		"the managed fields of this object take too long: " + fmt.Sprintf(format, limit))
}

// addObject adds an object and its managed fields.
func (w *libraryWork) addObject(obj map[string]any) {
	w.addValue(w.object, obj, 0)
	entries, _ := managedFieldsOf(obj).([]any)
	w.managers = max(w.managers, len(entries))
	for _, entry := range entries {
		if members, ok := entry.(map[string]any); ok {
			w.addSet(members["fieldsV1"], 0)
		}
	}
}

// addValue adds the value at the end of a path of the given length, and the values inside it that have owners.
func (w *libraryWork) addValue(ref smdschema.TypeRef, value any, length int) {
	atom, ok := w.schema.Resolve(ref)
	if w.steps += length; !ok || w.steps > maxSteps || !w.visit() {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		if !granular(atom.Map) {
			return
		}
		w.width = max(w.width, len(value))
		for name, member := range value {
			if ref, ok := memberType(atom.Map, name); ok {
				w.addValue(ref, member, length+1)
			}
		}
	case []any:
		if !associative(atom.List) {
			w.addAtomic(atom.List, value)
			return
		}
		w.width = max(w.width, len(value)*max(1, len(atom.List.Keys)))
		for _, item := range value {
			w.addValue(atom.List.ElementType, item, length+1)
		}
	}
}

// addAtomic adds the items of a list that has one owner.
func (w *libraryWork) addAtomic(t *smdschema.List, items []any) {
	for _, item := range items {
		if t == nil || !w.typeCheck(t.ElementType, item, paths{}) {
			w.mistyped++
		}
		if w.mistyped > maxMistyped {
			return
		}
	}
}

// addSet adds the paths of an entry of managed fields.
func (w *libraryWork) addSet(fields any, length int) {
	members, _ := fields.(map[string]any)
	if w.steps += length; w.steps > maxSteps || !w.visit() {
		return
	}
	w.width = max(w.width, len(members))
	for _, member := range members {
		w.addSet(member, length+1)
	}
}

const (
	maxTypeErrors     = 100
	maxErrorTextBytes = 16 << 10
)

// boundedErrors is a type converter whose errors have a bounded length. The library reports every value that does not
// fit its type, to the client and several times to the log. See docs/upstream.md, "Unbounded validation errors".
type boundedErrors struct{ managedfields.TypeConverter }

func (b boundedErrors) ObjectToTyped(
	obj runtime.Object, options ...typed.ValidationOptions,
) (*typed.TypedValue, error) {
	value, err := b.TypeConverter.ObjectToTyped(obj, options...)
	if err != nil {
		return nil, bounded(err)
	}
	return value, nil
}

// bounded returns err, or an error with the beginning of its text if that is too long.
func bounded(err error) error {
	all, ok := errors.AsType[typed.ValidationErrors](err)
	cut := ok && len(all) > maxTypeErrors
	if cut {
		err = all[:maxTypeErrors]
	}
	text := err.Error()
	if len(text) > maxErrorTextBytes {
		cut, text = true, strings.ToValidUTF8(text[:maxErrorTextBytes], "")
	}
	if !cut {
		return err
	}
	return errors.New(text + " ... and more")
}
