package podspec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// CheckClaimSpec checks a claim for a volume.
func CheckClaimSpec(spec *corev1.PersistentVolumeClaimSpec, path *field.Path) (errs field.ErrorList) {
	modes := path.Child("accessModes")
	errs = rules.When(len(spec.AccessModes) == 0, field.Required(modes, "at least 1 access mode is required"))
	for _, mode := range spec.AccessModes {
		errs = append(errs, rules.OneOf(mode, modes, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce,
			corev1.ReadWriteOncePod)...)
	}
	exclusive := slices.Contains(spec.AccessModes, corev1.ReadWriteOncePod)
	shared := slices.ContainsFunc(spec.AccessModes,
		func(mode corev1.PersistentVolumeAccessMode) bool { return mode != corev1.ReadWriteOncePod })
	errs = append(errs, rules.When(exclusive && shared,
		field.Forbidden(modes, "may not use ReadWriteOncePod with other access modes"))...)
	storage := path.Child("resources").Key(string(corev1.ResourceStorage))
	if size, found := spec.Resources.Requests[corev1.ResourceStorage]; !found {
		errs = append(errs, field.Required(storage, ""))
	} else if size.Sign() <= 0 {
		errs = append(errs, field.Invalid(storage, size.String(), "must be greater than zero"))
	}
	errs = append(errs, rules.Name(ptr.Deref(spec.StorageClassName, ""), path.Child("storageClassName"),
		apivalidation.NameIsDNSSubdomain)...)
	if spec.VolumeMode != nil {
		errs = append(errs, rules.OneOf(*spec.VolumeMode, path.Child("volumeMode"),
			corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)...)
	}
	return errs
}
