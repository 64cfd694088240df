package resource

import (
	"fmt"
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
)

// Fields are the fields that field selectors may name, besides the name and the namespace.
type Fields struct {
	// Values return the values of the fields.
	Values map[string]func(obj runtime.Object) string
	// NoNamespace says that metadata.namespace cannot be selected.
	NoNamespace bool
	// Unsupported is the format of the error for another field, if it is not the usual one.
	Unsupported string
}

// Paths returns the values of fields at paths, which are their names in selectors too. obj is an empty object.
func Paths(obj runtime.Object, paths ...string) map[string]func(obj runtime.Object) string {
	values := map[string]func(obj runtime.Object) string{}
	for _, path := range paths {
		at, _ := findField(reflect.TypeOf(obj), path)
		values[path] = func(obj runtime.Object) string {
			switch value := at.in(reflect.ValueOf(obj)); value.Kind() {
			case reflect.String:
				return value.String()
			case reflect.Bool:
				return strconv.FormatBool(value.Bool())
			default:
				return fmt.Sprint(printValue(value))
			}
		}
	}
	return values
}

// Of returns the values of the fields of an object.
func (f *Fields) Of(obj runtime.Object) map[string]string {
	values := make(map[string]string, len(f.Values))
	for name, value := range f.Values {
		values[name] = value(obj)
	}
	return values
}

// ConvertField returns a field and the value that a selector compares it with, or an error if it cannot be selected.
func (d *Definition) ConvertField(name, value string) (string, string, error) {
	isNamespace := name == "metadata.namespace" && d.Namespaced && !d.Fields.NoNamespace
	if d.Fields.Values[name] != nil || name == "metadata.name" || isNamespace {
		return name, value, nil
	}
	if d.Fields.Unsupported != "" {
		return "", "", fmt.Errorf(d.Fields.Unsupported, name)
	}
	return "", "", fmt.Errorf("field label not supported: %s", name)
}
