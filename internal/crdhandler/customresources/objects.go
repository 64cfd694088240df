package customresources

import (
	"errors"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/crd-server/crd-server/internal/crdhandler/schemas"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/validation"
)

// parameters returns the scheme of the options of requests. It is shared by all resources, and never modified.
var parameters = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddUnversionedTypes(metav1.SchemeGroupVersion,
		&metav1.ListOptions{}, &metav1.GetOptions{}, &metav1.DeleteOptions{})
	return scheme
})

// Creater makes empty objects of any kind.
var Creater = unstructuredscheme.NewUnstructuredCreator()

// Typer returns the kind that an unstructured object names. It asks its delegate, if there is one, for the kind of
// others (options).
type Typer struct{ Delegate runtime.ObjectTyper }

// ObjectKinds implements runtime.ObjectTyper.
func (t Typer) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	if _, ok := obj.(runtime.Unstructured); !ok && t.Delegate != nil {
		return t.Delegate.ObjectKinds(obj)
	}
	return unstructuredTyper.ObjectKinds(obj)
}

var unstructuredTyper = unstructuredscheme.NewUnstructuredObjectTyper()

// Recognizes implements runtime.ObjectTyper.
func (t Typer) Recognizes(gvk schema.GroupVersionKind) bool {
	return t.Delegate != nil && t.Delegate.Recognizes(gvk)
}

// NewTyper returns the typer of custom resources and of the options of requests.
func NewTyper() Typer { return Typer{parameters()} }

// Defaulter applies the defaults of the schema to custom resources of its kind. It passes others to its delegate.
type Defaulter struct {
	schemas   *schemas.Cached
	groupKind schema.GroupKind
	delegate  runtime.ObjectDefaulter
}

// NewDefaulter returns the defaulter of custom resources of a kind, with the schemas of their CRD.
func NewDefaulter(cached *schemas.Cached, kind schema.GroupKind) Defaulter {
	return Defaulter{schemas: cached, groupKind: kind, delegate: parameters()}
}

// Default implements runtime.ObjectDefaulter.
func (d Defaulter) Default(obj runtime.Object) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok || u.GroupVersionKind().GroupKind() != d.groupKind {
		d.delegate.Default(obj)
		return
	}
	// The decoding before and the validation after report a schema that does not compile; Complete reports defaults
	// that are too large.
	_ = d.Complete(u)
}

// Complete applies the defaults. The error is stored.ErrTooLarge if they are too large; obj has only some of them then.
func (d Defaulter) Complete(obj *unstructured.Unstructured) error {
	compiled, err := d.schemas.Get()
	if err != nil {
		return err
	}
	if err := compiled.Set.Default(obj.Object, validation.MaxDefaults); errors.Is(err, validation.ErrTooLarge) {
		return stored.ErrTooLarge
	} else if err != nil {
		return err
	}
	return nil
}

// NewConvertor returns the convertor between the versions of a CRD. It compiles on first use.
func NewConvertor(cached *schemas.Cached) runtime.ObjectConvertor { return lazyConvertor{cached} }

type lazyConvertor struct{ schemas *schemas.Cached }

func (c lazyConvertor) convertor() (runtime.ObjectConvertor, error) {
	compiled, err := c.schemas.Get()
	if err != nil {
		return nil, err
	}
	return compiled.Converter.ObjectConvertor(), nil
}

func (c lazyConvertor) Convert(in, out, context any) error {
	convertor, err := c.convertor()
	if err != nil {
		return err
	}
	return convertor.Convert(in, out, context)
}

func (c lazyConvertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	convertor, err := c.convertor()
	if err != nil {
		return nil, err
	}
	return convertor.ConvertToVersion(in, target)
}

// ConvertFieldLabel accepts the labels that a field selector may name. metadata.name needs no schema.
func (c lazyConvertor) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	if label == "metadata.name" {
		return label, value, nil
	}
	convertor, err := c.convertor()
	if err != nil {
		return "", "", err
	}
	return convertor.ConvertFieldLabel(gvk, label, value)
}

// NewTypeConverter returns the type converter of a CRD for callers that outlive an eviction from the schema cache.
func NewTypeConverter(cached *schemas.Cached) managedfields.TypeConverter {
	return typeConverter{cached}
}

type typeConverter struct{ schemas *schemas.Cached }

func (t typeConverter) ObjectToTyped(
	obj runtime.Object, options ...typed.ValidationOptions,
) (*typed.TypedValue, error) {
	compiled, err := t.schemas.Get()
	if err != nil {
		return nil, err
	}
	return compiled.Set.TypeConverter().ObjectToTyped(obj, options...)
}

func (t typeConverter) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	compiled, err := t.schemas.Get()
	if err != nil {
		return nil, err
	}
	return compiled.Set.TypeConverter().TypedToObject(value)
}
