package scales

import (
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
)

// Builtin makes Scales of the objects of a built-in resource.
type Builtin struct {
	Fields  *resource.Scale
	Version schema.GroupVersion
}

var _ Conversion = Builtin{}

// Of implements Conversion.
func (t Builtin) Of(parent runtime.Object) (runtime.Object, error) { return t.scaleOf(parent) }

// Shown implements Conversion.
func (t Builtin) Shown(parent runtime.Object) (runtime.Object, error) { return t.scaleOf(parent) }

func (t Builtin) scaleOf(parent runtime.Object) (*autoscalingv1.Scale, error) {
	spec, status, err := t.Fields.Read(parent)
	if err != nil {
		return nil, err
	}
	return newScale(objectmeta.Accessor(parent), spec, status), nil
}

// Edit implements Conversion. An update without a resourceVersion is for any state of the object.
func (t Builtin) Edit(parent runtime.Object) (runtime.Object, func(runtime.Object) (runtime.Object, error), error) {
	before, err := t.scaleOf(parent)
	if err != nil {
		return nil, nil, err
	}
	fields := managedfields.NewScaleHandler(objectmeta.Accessor(parent).GetManagedFields(), t.Version,
		managedfields.ResourcePathMappings{t.Version.String(): fieldpath.MakePathOrDie("spec", "replicas")})
	if before.ManagedFields, err = fields.ToSubresource(); err != nil {
		return nil, nil, err
	}
	return before, func(after runtime.Object) (runtime.Object, error) {
		return t.write(parent, after, fields)
	}, nil
}

// write returns a copy of an object with the replicas and the managed fields of a Scale.
func (t Builtin) write(parent, after runtime.Object, fields *managedfields.ScaleHandler) (runtime.Object, error) {
	scale, ok := after.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expected input object type to be Scale, but %T", after))
	}
	if errs := validateScale(scale); len(errs) > 0 {
		kind := autoscalingv1.SchemeGroupVersion.WithKind("Scale").GroupKind()
		return nil, apierrors.NewInvalid(kind, scale.Name, errs)
	}
	obj := parent.DeepCopyObject()
	m := objectmeta.Accessor(obj)
	m.SetResourceVersion(scale.ResourceVersion)
	t.Fields.Write(obj, scale.Spec.Replicas)
	entries, err := fields.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	m.SetManagedFields(entries)
	return obj, nil
}

func validateScale(scale *autoscalingv1.Scale) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&scale.ObjectMeta, true, apivalidation.NameIsDNSSubdomain,
		field.NewPath("metadata"))
	if scale.Spec.Replicas < 0 {
		path := field.NewPath("spec", "replicas")
		errs = append(errs, field.Invalid(path, scale.Spec.Replicas, "must be greater than or equal to 0"))
	}
	return errs
}
