package podspec

import (
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
	errs = append(errs, CheckAccessModes(spec.AccessModes, modes)...)
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

// CheckAccessModes checks the access modes of a volume or a claim.
func CheckAccessModes(modes []corev1.PersistentVolumeAccessMode, path *field.Path) (errs field.ErrorList) {
	exclusive, shared := false, false
	for _, mode := range modes {
		wrong := rules.Known(mode, path, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce,
			corev1.ReadWriteOncePod)
		errs = append(errs, wrong...)
		exclusive = exclusive || mode == corev1.ReadWriteOncePod
		shared = shared || mode != corev1.ReadWriteOncePod && len(wrong) == 0
	}
	return append(errs, rules.When(exclusive && shared,
		field.Forbidden(path, "may not use ReadWriteOncePod with other access modes"))...)
}
