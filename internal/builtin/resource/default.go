package resource

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// Default sets a field that is left out.
func Default[T any](to **T, value T) {
	if *to == nil {
		*to = &value
	}
}

// DefaultValue sets a field whose zero value means that it is left out.
func DefaultValue[T comparable](to *T, value T) { *to = cmp.Or(*to, value) }

// Defaults returns a function that sets the fields of an object that are left out. text has their values, as an object
// of YAML. The fields of an object that is left out stay so, unless its value is {}. Those of a list are fields of its
// items. The text is read when the function is called first. It panics if the text does not fit the type.
func Defaults[T any](text []byte) func(obj *T) {
	all := sync.OnceValue(func() defaults {
		values, err := yaml.YAMLToJSONStrict(text)
		if err != nil {
			panic(err)
		}
		return parseDefaults(reflect.TypeFor[T](), values)
	})
	return func(obj *T) { all().set(reflect.ValueOf(obj).Elem()) }
}

// defaults are those of the fields of one struct.
type defaults []fieldDefault

// fieldDefault has the value of a field, or the defaults of the fields below it.
type fieldDefault struct {
	index []int
	value reflect.Value
	below defaults
}

func parseDefaults(t reflect.Type, text []byte) (all defaults) {
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &values); err != nil {
		panic(err)
	}
	for name, text := range values {
		field := fieldOfJSON(t, name)
		d, of := fieldDefault{index: field.Index, value: reflect.New(field.Type).Elem()}, field.Type
		if text[0] != '{' || string(text) == "{}" {
			if err := json.Unmarshal(text, d.value.Addr().Interface()); err != nil {
				panic(err)
			}
		} else {
			if of.Kind() != reflect.Struct {
				of = of.Elem()
			}
			d.below = parseDefaults(of, text)
		}
		all = append(all, d)
	}
	return all
}

func fieldOfJSON(t reflect.Type, name string) reflect.StructField {
	for _, field := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
			return field
		}
	}
	panic(t.String() + "." + name) // there is no such field
}

func (all defaults) set(obj reflect.Value) {
	for _, d := range all {
		switch field := obj.FieldByIndex(d.index); {
		case field.Kind() == reflect.Struct:
			d.below.set(field)
		case field.Kind() == reflect.Slice:
			for n := range field.Len() {
				d.below.set(field.Index(n))
			}
		case !field.IsZero() && d.below != nil:
			d.below.set(field.Elem())
		case !field.IsZero() || d.below != nil:
		case field.Kind() == reflect.Pointer: // each object gets a value of its own
			field.Set(reflect.New(field.Type().Elem()))
			field.Elem().Set(d.value.Elem())
		default:
			field.Set(d.value)
		}
	}
}
