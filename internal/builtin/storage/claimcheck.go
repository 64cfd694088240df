package storage

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// claimKind is the kind of claims, as sources of data name it.
const claimKind = "PersistentVolumeClaim"

// checkClaim returns the errors of a claim.
func checkClaim(obj *corev1.PersistentVolumeClaim) field.ErrorList {
	spec, path := &obj.Spec, field.NewPath("spec")
	return slices.Concat(
		resource.CheckMetadata(obj, apivalidation.NameIsDNSSubdomain),
		metavalidation.ValidateLabelSelector(
			spec.Selector, metavalidation.LabelSelectorValidationOptions{}, path.Child("selector")),
		podspec.CheckClaimSpec(spec, path),
		checkDataSources(spec, path),
		rules.Name(ptr.Deref(spec.VolumeAttributesClassName, ""), path.Child("volumeAttributesClassName"),
			apivalidation.NameIsDNSSubdomain),
	)
}

func checkDataSources(spec *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	source, ref := spec.DataSource, spec.DataSourceRef
	errs := rules.Optional(ref, path.Child("dataSourceRef"), checkDataSource)
	if source == nil {
		return errs
	}
	errs = append(checkDataSource(referenceTo(source), path.Child("dataSource")), errs...)
	isOther := ref != nil &&
		(!ptr.Equal(source.APIGroup, ref.APIGroup) || source.Kind != ref.Kind || source.Name != ref.Name)
	return append(errs,
		rules.When(isOther, field.Invalid(path, path.Child("dataSource"), "must match dataSourceRef"))...)
}

func checkDataSource(source corev1.TypedObjectReference, path *field.Path) field.ErrorList {
	group := ptr.Deref(source.APIGroup, "")
	return slices.Concat(
		rules.Required(source.Name, path.Child("name")),
		rules.Required(source.Kind, path.Child("kind")),
		rules.When(group == "" && source.Kind != claimKind, field.Invalid(path, source.Kind,
			"must be 'PersistentVolumeClaim' when referencing the default apiGroup")),
		rules.Name(group, path.Child("apiGroup"), apivalidation.NameIsDNSSubdomain),
	)
}

// checkClaimUpdate lets a claim be bound to a volume, get a class, and, once it is bound, ask for another size and
// other attributes. Nothing else may change.
func checkClaimUpdate(obj, old *corev1.PersistentVolumeClaim) field.ErrorList {
	errs := append(resource.CheckMetadataUpdate(obj, old), checkClaim(obj)...)
	after, before := obj.Spec.DeepCopy(), old.Spec.DeepCopy()
	if before.VolumeName == "" {
		before.VolumeName = after.VolumeName
	}
	errs = append(errs, allowClass(obj, old, after)...)
	if obj.Status.Phase == corev1.ClaimBound {
		if after.Resources.Requests != nil {
			after.Resources.Requests[corev1.ResourceStorage] = old.Spec.Resources.Requests[corev1.ResourceStorage]
		}
		after.VolumeAttributesClassName = before.VolumeAttributesClassName
	}
	if !apiequality.Semantic.DeepEqual(after, before) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), "spec is immutable after creation except "+
			"resources.requests and volumeAttributesClassName for bound claims"+changes(*before, *after)))
	}
	size, oldSize := obj.Spec.Resources.Requests.Storage(), old.Spec.Resources.Requests.Storage()
	if size.Cmp(*oldSize) < 0 && size.Cmp(old.Status.Capacity[corev1.ResourceStorage]) <= 0 {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "resources", "requests", "storage"),
			"field can not be less than status.capacity"))
	}
	mode := field.NewPath("volumeMode")
	errs = append(errs, apivalidation.ValidateImmutableField(obj.Spec.VolumeMode, old.Spec.VolumeMode, mode)...)
	return append(errs, checkAttributesUpdate(obj, old)...)
}

// allowClass makes after equal to the spec of old if it has got a class that the claim may get: that of its annotation,
// or any if it had none. The annotation itself may not change, unless the field takes its place.
func allowClass(obj, old *corev1.PersistentVolumeClaim, after *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	class, oldClass := obj.Spec.StorageClassName, old.Spec.StorageClassName
	annotated, wasAnnotated := old.Annotations[classAnnotation]
	annotation, isAnnotated := obj.Annotations[classAnnotation]
	isNew := oldClass == nil && class != nil
	isMove := isNew && wasAnnotated && *class == annotated && (!isAnnotated || annotation == annotated)
	isFirst := isNew && !wasAnnotated
	if isMove || isFirst {
		after.StorageClassName = nil
	}
	if isMove || annotation == annotated {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations", classAnnotation), annotation,
		apivalidation.FieldImmutableErrorMsg)}
}

func checkAttributesUpdate(obj, old *corev1.PersistentVolumeClaim) field.ErrorList {
	class := obj.Spec.VolumeAttributesClassName
	if ptr.Equal(class, old.Spec.VolumeAttributesClassName) || old.Status.CurrentVolumeAttributesClassName == nil ||
		ptr.Deref(class, "") != "" {
		return nil
	}
	value := "empty string"
	if class == nil {
		value = "nil"
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "volumeAttributesClassName"),
		fmt.Sprintf("update to %s is forbidden when status.currentVolumeAttributesClassName is not nil", value))}
}

func checkClaimStatus(obj, old *corev1.PersistentVolumeClaim) field.ErrorList {
	errs := resource.CheckMetadataUpdate(obj, old)
	capacity := field.NewPath("status", "capacity")
	for _, name := range slices.Sorted(maps.Keys(obj.Status.Capacity)) {
		errs = append(errs, checkQuantity(obj.Status.Capacity[name], capacity.Key(string(name)))...)
	}
	resizing := field.NewPath("status", "allocatedResourceStatuses")
	for _, name := range slices.Sorted(maps.Keys(obj.Status.AllocatedResourceStatuses)) {
		isKnown := slices.Contains(resizeStates, obj.Status.AllocatedResourceStatuses[name])
		errs = append(errs, checkClaimResource(name, resizing)...)
		errs = append(errs, rules.When(!isKnown, field.NotSupported(resizing, name, resizeStates))...)
	}
	allocated := field.NewPath("status", "allocatedResources")
	for _, name := range slices.Sorted(maps.Keys(obj.Status.AllocatedResources)) {
		wrong := checkClaimResource(name, allocated)
		if len(wrong) == 0 {
			wrong = checkQuantity(obj.Status.AllocatedResources[name], allocated.Key(string(name)))
		}
		errs = append(errs, wrong...)
	}
	return errs
}

// resizeStates are the states of a claim that is growing.
var resizeStates = []corev1.ClaimResourceStatus{
	corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
	corev1.PersistentVolumeClaimNodeResizeInProgress, corev1.PersistentVolumeClaimNodeResizeInfeasible,
	corev1.PersistentVolumeClaimNodeResizePending,
}

// checkClaimResource returns the errors of the name of a resource of a claim: storage, or a name with a domain.
func checkClaimResource(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if errs := rules.QualifiedName(name, path); len(errs) > 0 {
		return errs
	}
	text := string(name)
	if strings.Contains(text, "/") && !strings.Contains(text, corev1.ResourceDefaultNamespacePrefix) {
		return nil
	}
	return rules.Known(name, path, corev1.ResourceStorage)
}
