package builtin

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/schemas"
)

// Versions returns the definitions of a resource in all its versions, which are stored together. They may be in several
// groups, as those of events are. A definition that is not in the set is its only version.
func (s *Set) Versions(d *resource.Definition) []*resource.Definition {
	var versions []*resource.Definition
	for _, other := range s.Definitions {
		if other.List != nil && other.StorageFolder() == d.StorageFolder() {
			versions = append(versions, other)
		}
	}
	if len(versions) == 0 {
		return []*resource.Definition{d}
	}
	return versions
}

// Types returns the structure of a definition's objects in all versions of its group, by which managed fields are
// merged. It leaves out other groups, as kube-apiserver does: a write of an event in one group drops the managed fields
// that the other group has set.
func (s *Set) Types(d *resource.Definition) (managedfields.TypeConverter, error) {
	var names []string
	for _, version := range s.Versions(d) {
		named, ok := version.Object.(interface{ OpenAPIModelName() string })
		if ok && version.GroupVersion.Group == d.GroupVersion.Group {
			names = append(names, named.OpenAPIModelName())
		}
	}
	return schemas.TypeConverter(names...)
}

// equivalents returns which resources are versions of another. Admission calls a webhook for one version when an object
// is written in another.
func (s *Set) equivalents() runtime.EquivalentResourceMapper {
	registry := runtime.NewEquivalentResourceRegistryWithIdentity(func(gr schema.GroupResource) string {
		return s.Find(gr).StorageFolder()
	})
	for _, d := range s.Definitions {
		registry.RegisterKindFor(d.GroupVersionResource(), "", d.GroupVersionKind())
		for n := range d.Subresources {
			sub := &d.Subresources[n]
			registry.RegisterKindFor(d.GroupVersionResource(), sub.Name, sub.GroupVersionKind(d))
		}
	}
	return registry
}

// Convertor returns the convertor between the versions of a resource.
func (s *Set) Convertor(d *resource.Definition) runtime.ObjectConvertor {
	return convertor{s.Scheme, s.Versions(d)}
}

// convertor converts objects between the served versions of a resource, by the version that is stored. The scheme
// converts all other objects.
type convertor struct {
	*runtime.Scheme
	versions []*resource.Definition
}

// ConvertToVersion implements runtime.ObjectConvertor. The result does not share parts with in. A version that is not
// served does not exist, also if the scheme has it because objects are stored in it: managed fields of that version are
// dropped, as kube-apiserver does.
func (c convertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	obj := in
	if u, ok := in.(runtime.Unstructured); ok {
		var err error
		if obj, err = c.Scheme.ConvertToVersion(u, u.GetObjectKind().GroupVersionKind().GroupVersion()); err != nil {
			return nil, err
		}
	}
	from, to := c.versionOf(obj), c.version(target)
	if from == nil || from == to {
		return c.Scheme.ConvertToVersion(obj, target)
	}
	if to == nil {
		return nil, runtime.NewNotRegisteredErrForTarget(c.Name(), reflect.TypeOf(obj), target)
	}
	obj = obj.DeepCopyObject()
	var err error
	if from.Storage != nil {
		if obj, err = from.Storage.Encode(obj); err != nil {
			return nil, err
		}
	}
	if to.Storage != nil {
		if obj, err = to.Storage.Decode(obj); err != nil {
			return nil, err
		}
	}
	obj.GetObjectKind().SetGroupVersionKind(to.GroupVersionKind())
	return obj, nil
}

// Convert implements runtime.ObjectConvertor.
func (c convertor) Convert(in, out, context any) error {
	obj, ok := in.(runtime.Object)
	into, ok2 := out.(runtime.Object)
	if !ok || !ok2 {
		return c.Scheme.Convert(in, out, context)
	}
	from, to := c.versionOf(obj), c.versionOf(into)
	if from == nil || to == nil || from == to {
		return c.Scheme.Convert(in, out, context)
	}
	converted, err := c.ConvertToVersion(obj, to.GroupVersion)
	if err != nil {
		return err
	}
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(converted).Elem())
	return nil
}

// versionOf returns the version that an object has by its Go type, or nil.
func (c convertor) versionOf(obj runtime.Object) *resource.Definition {
	for _, d := range c.versions {
		if reflect.TypeOf(d.Object) == reflect.TypeOf(obj) {
			return d
		}
	}
	return nil
}

// version returns a version by its name, or nil.
func (c convertor) version(target runtime.GroupVersioner) *resource.Definition {
	for _, d := range c.versions {
		if gv, ok := target.(schema.GroupVersion); ok && gv == d.GroupVersion {
			return d
		}
	}
	return nil
}
