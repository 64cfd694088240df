package storage

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

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
