package resource

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// fieldPath leads to a field of a Go type. An index is that of a field of a struct.
type fieldPath struct {
	indices []int
	// elements, if set, leads on from the elements of a list.
	elements *fieldPath
	of       reflect.Type
}

// findField returns the field that a path of names in JSON leads to, and its documentation. The elements of a list are
// documented by that of the list.
func findField(in reflect.Type, path string) (found fieldPath, doc string) {
	list, rest, isList := strings.Cut(path, "[*]")
	for name := range strings.SplitSeq(list, ".") {
		if in.Kind() == reflect.Pointer {
			in = in.Elem()
		}
		if documented, ok := reflect.New(in).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
			doc = documented.SwaggerDoc()[name]
		}
		field := fieldNamed(in, name)
		found.indices, in = append(found.indices, field.Index...), field.Type
	}
	found.of = in
	if isList {
		elements := fieldPath{of: in.Elem()}
		if rest != "" {
			elements, _ = findField(in.Elem(), rest[1:])
		}
		found.elements, found.of = &elements, reflect.TypeFor[string]()
	}
	return found, doc
}

// fieldNamed returns the field of a struct that has a name in JSON. It panics if there is none, which is a mistake in
// the code.
func fieldNamed(in reflect.Type, name string) reflect.StructField {
	for _, field := range reflect.VisibleFields(in) {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
			return field
		}
	}
	panic(in.String() + "." + name)
}

// in returns the value of the field in an object. It is a zero value if a pointer on the way is nil. The elements of a
// list are joined.
func (p *fieldPath) in(obj reflect.Value) reflect.Value {
	for _, index := range p.indices {
		if obj.Kind() == reflect.Pointer {
			if obj.IsNil() {
				return reflect.New(p.of).Elem()
			}
			obj = obj.Elem()
		}
		obj = obj.Field(index)
	}
	if p.elements == nil {
		return obj
	}
	elements := make([]string, obj.Len())
	for n := range elements {
		elements[n] = fmt.Sprint(printValue(p.elements.in(obj.Index(n))))
	}
	return reflect.ValueOf(strings.Join(elements, ","))
}

// printValue returns the cell of a value: a list or a map is counted, and a pointer to nothing is a zero value.
func printValue(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v = reflect.New(v.Type().Elem())
		}
		return printValue(v.Elem())
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Int32, reflect.Int64:
		return v.Int()
	}
	switch value := v.Addr().Interface().(type) {
	case *metav1.Time:
		return table.ConvertToHumanReadableDateType(*value)
	case *metav1.LabelSelector:
		return metav1.FormatLabelSelector(value)
	case *map[string]string:
		return labels.FormatLabels(*value)
	case fmt.Stringer:
		return value.String()
	}
	return int64(v.Len())
}
