package managedfields

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

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
