package validation

import (
	"fmt"
	"slices"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// typeConverter types the objects of a CRD by the schema of their version (O6). The library's converter would type them
// in the same way, but holds the types of all versions and a copy of the built-in types for every CRD.
// See docs/upstream.md, "Built-in types copied for each CRD".
type typeConverter struct {
	set *Set
}

var _ managedfields.TypeConverter = &typeConverter{}

func (c *typeConverter) ObjectToTyped(
	obj runtime.Object, options ...typed.ValidationOptions,
) (*typed.TypedValue, error) {
	gvk := obj.GetObjectKind().GroupVersionKind()
	var (
		parseable *typed.ParseableType
		err       error
	)
	if v := c.set.Version(gvk.Version); v != nil && gvk.GroupKind() == c.set.kind {
		parseable, err = v.parseableType.get(v.compileParseableType)
	} else if gvk == scaleKind {
		parseable, err = scaleType()
	} else {
		// The library drops managed fields of a removed version on this error, which only the library can construct.
		return noTypes().ObjectToTyped(obj, options...)
	}
	if err != nil {
		return nil, err
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return parseable.FromUnstructured(u.Object, options...)
	}
	return parseable.FromStructured(obj, options...)
}

func (c *typeConverter) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	untyped := value.AsValue().Unstructured()
	fields, ok := untyped.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("failed to convert value to unstructured for type %T", untyped)
	}
	return &unstructured.Unstructured{Object: fields}, nil
}

func (v *Version) compileParseableType() (*typed.ParseableType, error) {
	name := modelName(v.set.kind.Group, v.spec.Name, v.set.kind.Kind)
	own, err := v.convertModel(name)
	if err != nil {
		return nil, err
	}
	builtIn, err := builtInTypes(v.set.crd.Spec.PreserveUnknownFields)
	if err != nil {
		return nil, err
	}
	return parseableType(name, slices.Concat(own, builtIn)), nil
}

func parseableType(name string, types []smdschema.TypeDef) *typed.ParseableType {
	parser := typed.Parser{Schema: smdschema.Schema{Types: types}}
	parseable := parser.Type(name)
	return &parseable
}

// scaleKind is the kind that the field manager of the scale subresource works on.
var scaleKind = schema.GroupVersionKind{Group: autoscalingv1.GroupName, Version: "v1", Kind: "Scale"}

var scaleType = sync.OnceValues(func() (*typed.ParseableType, error) {
	builtIn, err := builtInTypes(false)
	if err != nil {
		return nil, err
	}
	return parseableType(scaleModel, builtIn), nil
})

// noTypes returns a converter without types. It returns the library's error for every object.
var noTypes = sync.OnceValue(func() managedfields.TypeConverter {
	converter, err := managedfields.NewTypeConverter(nil, false)
	if err != nil {
		panic(fmt.Sprintf("validation: converter without types: %v", err))
	}
	return converter
})
