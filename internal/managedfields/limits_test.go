package managedfields

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/warning"

	"github.com/crd-server/crd-server/internal/objectjson"
)

// withExtras returns a machine with a field in spec.extras, and with managed fields.
func withExtras(name string, value any, managers ...any) *unstructured.Unstructured {
	obj := large(0, 1)
	obj.Object["spec"].(map[string]any)["extras"].(map[string]any)[name] = value
	if managers != nil {
		obj.Object["metadata"].(map[string]any)["managedFields"] = managers
	}
	return obj
}

func nested(levels int) any {
	value := any("x")
	for range levels {
		value = map[string]any{"a": value}
	}
	return value
}

func members(n int) map[string]any {
	members := map[string]any{}
	for i := range n {
		members[fmt.Sprint("f:", i)] = map[string]any{}
	}
	return members
}

func entry(name string, fields map[string]any) map[string]any {
	return map[string]any{"manager": name, "operation": "Apply", "apiVersion": "example.com/v1", "fieldsType": "FieldsV1",
		"fieldsV1": fields}
}

// TestLibraryWorkIsLimited checks that the library is not called for objects with which it would take long.
func TestLibraryWorkIsLimited(t *testing.T) {
	t.Parallel()
	config := configOf(t, "v1", "")
	config.Types = boundedErrors{config.Types}
	list := make([]any, maxWidth+1)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	manyManagers := make([]any, 500)
	for i := range manyManagers {
		manyManagers[i] = entry(fmt.Sprint("m", i), members(20))
	}
	for _, test := range []struct {
		name string
		obj  *unstructured.Unstructured
		want string
	}{
		{"usual", large(0, manyItems), ""},
		{"an atomic list", withExtras("args", list), ""},
		{"nulls in an atomic list", withExtras("args", make([]any, maxMistyped+1)), ""},
		{"numbers in a list of texts", withExtras("args", slices.Repeat([]any{int64(1)}, maxMistyped+1)), "a wrong type"},
		{"an atomic map", withExtras("selector", members(maxWidth+1)), ""},
		{"a wide map", withExtras("any", members(maxWidth+1)), "more than 10000 fields"},
		{"a set", withExtras("tags", list), "more than 10000 fields"},
		{"managed fields", withExtras("port", 1, entry("m", members(maxWidth+1))), "more than 10000 fields"},
		{"deep objects", withExtras("any", nested(1000)), ""},
		{"deeper objects", withExtras("any", nested(1500)), "more than 1000000 elements"},
		{"managers", withExtras("port", 1, manyManagers[:100]...), ""},
		{"many managers", withExtras("any", members(maxWidth), manyManagers...), "the number of managers"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			kind, err := config.typedKind()
			if err != nil {
				t.Fatal(err)
			}
			err = checkWork(t.Context(), kind, test.obj, noMachine())
			if test.want == "" && err != nil ||
				test.want != "" && !(apierrors.IsRequestEntityTooLargeError(err) && strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if err := checkWork(&countdown{t.Context(), 0}, kind, test.obj); !errors.Is(err, context.Canceled) {
				t.Errorf("%v although the context is done", err)
			}
		})
	}
}

// recorded are the texts of warnings.
type recorded []string

func (r *recorded) AddWarning(_, text string) { *r = append(*r, text) }

// TestTooMuchForLibrary checks that an apply that needs too much work is refused, and that an update then keeps the
// managed fields of the live object.
func TestTooMuchForLibrary(t *testing.T) {
	t.Parallel()
	config := configOf(t, "v1", "")
	manager, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	live := withExtras("env", map[string]any{"a": nil}, entry("m", map[string]any{"f:spec": map[string]any{}}))
	live.SetUID("uid")
	changed := live.DeepCopy()
	list := make([]any, maxWidth+1)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	list[1] = list[0] // duplicates are left to the library
	changed.Object["spec"].(map[string]any)["extras"].(map[string]any)["tags"] = list
	changed.Object["metadata"].(map[string]any)["managedFields"] = []any{}

	var warnings recorded
	updated, err := manager.Update(warning.WithWarningRecorder(t.Context(), &warnings), live, changed, "two")
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "metadata.managedFields was not updated") {
		t.Errorf("%v, warnings %q", err, warnings)
	}
	if got, want := managedFieldsOf(object(updated)), managedFieldsOf(live.Object); !objectjson.Equal(got, want) {
		t.Errorf("managed fields %v, want %v", got, want)
	}
	applied := changed.DeepCopy()
	applied.SetManagedFields(nil)
	if obj, err := manager.Apply(t.Context(), live, applied, "two", true); !apierrors.IsRequestEntityTooLargeError(err) {
		t.Errorf("applied: %v %v", obj, err)
	}
}

func object(obj runtime.Object) map[string]any { return obj.(*unstructured.Unstructured).Object }

// TestLibraryEndsBetweenConversions checks that the library ends with the context where it asks for types.
func TestLibraryEndsBetweenConversions(t *testing.T) {
	t.Parallel()
	library, err := NewLibrary(configOf(t, "v1", ""))
	if err != nil {
		t.Fatal(err)
	}
	live := withExtras("port", int64(1), entry("m", map[string]any{"f:spec": map[string]any{}}))
	for looks := range 5 {
		if obj, err := library.Update(&countdown{t.Context(), looks}, live, live.DeepCopy(), "two"); err == nil {
			t.Errorf("updated after %d looks: %v", looks, obj)
		}
		if obj, err := library.Apply(&countdown{t.Context(), looks}, live, large(0, 1), "two", true); err == nil {
			t.Errorf("applied after %d looks: %v", looks, obj)
		}
	}
}
