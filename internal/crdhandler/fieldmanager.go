package crdhandler

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// fieldManager keeps account of who has set which fields of an object (W7, W8).
type fieldManager interface {
	// Update returns obj, which it may change, with the managed fields that follow from a manager's change of live into it. It fails only
	// when ctx is done.
	Update(ctx context.Context, live, obj runtime.Object, manager string) (runtime.Object, error)
	// Apply returns live, which it does not change, with what a manager has applied merged into it.
	Apply(ctx context.Context, live, applied runtime.Object, manager string, force bool) (runtime.Object, error)
}

// fieldManagerParts is what a field manager of custom resources is made of.
type fieldManagerParts struct {
	types       managedfields.TypeConverter
	objects     objectInterfaces
	kind        schema.GroupVersionKind
	hub         schema.GroupVersion
	subresource string
	reset       resetFields
}

// customResourceFieldManager is the library's, shown objects that take less work. Of the writes that
// are as usual we decide what follows, as it would.
type customResourceFieldManager struct {
	library *managedfields.FieldManager
	updates *fieldUpdates
}

var _ fieldManager = customResourceFieldManager{}

func newCustomResourceFieldManager(p fieldManagerParts) (fieldManager, error) {
	library, err := managedfields.NewDefaultCRDFieldManager(managedTypes{p.types}, managedConvertor{p.objects.convertor, p.hub},
		managedDefaulter{p.objects.defaulter}, p.objects.creater, p.kind, p.hub, p.subresource, fieldpath.NewExcludeFilterSetMap(p.reset))
	if err != nil {
		return nil, err
	}
	return customResourceFieldManager{library, newFieldUpdates(p)}, nil
}

func (m customResourceFieldManager) Update(ctx context.Context, live, obj runtime.Object, manager string) (runtime.Object, error) {
	return uninterrupted(ctx, func() (runtime.Object, error) {
		if m.updates.update(ctx, live, obj, manager) {
			return obj, nil
		}
		if _, ok := obj.(*unstructured.Unstructured); !ok {
			orderFields(obj)
		}
		return unwrapped(m.library.UpdateNoErrors(wrapped(ctx, live), wrapped(ctx, obj), manager)), nil
	})
}

func (m customResourceFieldManager) Apply(
	ctx context.Context, live, applied runtime.Object, manager string, force bool,
) (runtime.Object, error) {
	return uninterrupted(ctx, func() (runtime.Object, error) {
		if obj, done := m.updates.apply(ctx, live, applied, manager, force); done {
			return obj, nil
		}
		obj, err := m.library.Apply(wrapped(ctx, live), wrapped(ctx, applied), manager, force)
		return unwrapped(obj), err
	})
}

// wrapped returns an unstructured object with its managed fields at hand, and any other (a Scale) as it is. The library stops working on it when ctx
// is done.
func wrapped(ctx context.Context, obj runtime.Object) runtime.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return managed(ctx, u)
	}
	return obj
}

// contextOf returns what ends work on an object, nil if nothing does.
func contextOf(obj runtime.Object) context.Context {
	if m, ok := obj.(*managedObject); ok {
		return m.ctx
	}
	return nil
}

func unwrapped(obj runtime.Object) runtime.Object {
	if m, ok := obj.(*managedObject); ok {
		return m.Unstructured
	}
	return obj
}

// managedTypes types what is in a managedObject.
type managedTypes struct{ managedfields.TypeConverter }

// ObjectToTyped shows the library all objects alike, a Scale too: what is applied to it is compared with it.
func (t managedTypes) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	u, ok := unwrapped(obj).(*unstructured.Unstructured)
	if !ok {
		members, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return nil, err
		}
		u = &unstructured.Unstructured{Object: members}
	}
	shown := fieldValueOf(contextOf(obj), versionShown(contextOf(obj), u.Object))
	if m, ok := obj.(*managedObject); ok && m.made != nil {
		//lint:ignore SA1019 What the library has made of valid values is valid to it, even where it would not take it from elsewhere.
		return typed.AsTypedUnvalidated(shown, m.made.Schema(), m.made.TypeRef()), nil
	}
	// The type of an object depends on its kind alone.
	kind := map[string]any{"apiVersion": u.Object["apiVersion"], "kind": u.Object["kind"]}
	ofKind, err := t.TypeConverter.ObjectToTyped(&unstructured.Unstructured{Object: kind})
	if err != nil {
		return nil, err
	}
	value, err := typed.AsTyped(shown, ofKind.Schema(), ofKind.TypeRef(), options...)
	if err != nil {
		return nil, shortened(err)
	}
	return value, nil
}

// TypedToObject returns an object that nobody may modify before it was converted or defaulted.
func (t managedTypes) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	obj, err := t.TypeConverter.TypedToObject(value)
	u, ok := obj.(*unstructured.Unstructured)
	if err != nil || !ok {
		return obj, err
	}
	ctx, members := versionHidden(u.Object)
	m := managed(ctx, &unstructured.Unstructured{Object: members})
	m.made = value
	return m, nil
}

// managedConvertor converts what is in a managedObject. One that has the version already it returns as it is: a manager
// modifies none before it has defaulted it. The convertor for everybody would copy it. Of the versions asked for that is right
// for the hub's alone: a custom resource knows that version, and whether it knows another one is for the convertor to say.
type managedConvertor struct {
	runtime.ObjectConvertor
	hub schema.GroupVersion
}

func (c managedConvertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	m, ok := in.(*managedObject)
	switch {
	case !ok:
		return c.convert(in, target)
	case m.made != nil && !m.passed && target == runtime.GroupVersioner(c.hub):
		m.passed = true
		return m, nil
	case m.passed:
		return c.convertPassed(m, target)
	case hasVersion(m, target) && m.GroupVersionKind().GroupVersion() == c.hub:
		return m, nil
	case m.made != nil:
		return c.convert(managed(m.ctx, m.DeepCopy()), target)
	}
	return c.convert(m, target)
}

func (c managedConvertor) convert(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	out, err := c.ObjectConvertor.ConvertToVersion(unwrapped(in), target)
	return wrapped(contextOf(in), out), err
}

// convertPassed converts what the library has made and has asked for in the hub version, by way of that. It does so before it asks for the version
// that it wants, and need not have if that is the one the object has.
func (c managedConvertor) convertPassed(m *managedObject, target runtime.GroupVersioner) (runtime.Object, error) {
	if hasVersion(m, target) {
		return m, nil
	}
	hub, err := c.ConvertToVersion(managed(m.ctx, m.DeepCopy()), c.hub)
	if err != nil {
		return nil, err
	}
	return c.ConvertToVersion(hub, target)
}

func hasVersion(m *managedObject, target runtime.GroupVersioner) bool {
	kind := m.GroupVersionKind()
	to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{kind})
	return ok && to == kind
}

// managedDefaulter applies defaults to what is in a managedObject, which from then on shares nothing with others.
type managedDefaulter struct{ runtime.ObjectDefaulter }

func (d managedDefaulter) Default(obj runtime.Object) {
	if m, ok := obj.(*managedObject); ok && m.made != nil {
		m.Unstructured, m.made, m.passed = m.DeepCopy(), nil, false
	}
	d.ObjectDefaulter.Default(unwrapped(obj))
}
