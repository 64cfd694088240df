package storage

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// checkAccessModes returns the errors of the access modes of a volume or claim.
func checkAccessModes(modes []corev1.PersistentVolumeAccessMode, path *field.Path) (errs field.ErrorList) {
	single, others := false, false
	for _, mode := range modes {
		wrong := resource.CheckSupported(path, mode,
			corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)
		errs = append(errs, wrong...)
		if mode == corev1.ReadWriteOncePod {
			single = true
		} else if len(wrong) == 0 {
			others = true
		}
	}
	if single && others {
		errs = append(errs, field.Forbidden(path, "may not use ReadWriteOncePod with other access modes"))
	}
	return errs
}

// accessModesCell returns the abbreviations of access modes.
func accessModesCell(modes []corev1.PersistentVolumeAccessMode) string {
	var cell []string
	for _, known := range []struct {
		mode         corev1.PersistentVolumeAccessMode
		abbreviation string
	}{
		{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"},
		{corev1.ReadWriteOncePod, "RWOP"},
	} {
		if slices.Contains(modes, known.mode) {
			cell = append(cell, known.abbreviation)
		}
	}
	return strings.Join(cell, ",")
}
