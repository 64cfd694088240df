package resource

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Newest returns the newest of the objects that a function chooses, and of equally old ones the first by name. It
// returns the zero value if there are none.
func Newest[T metav1.Object](all []T, choose func(obj T) bool) (newest T) {
	chosen := slices.DeleteFunc(slices.Clone(all), func(obj T) bool { return !choose(obj) })
	if len(chosen) == 0 {
		return newest
	}
	return slices.MinFunc(chosen, func(a, b T) int {
		older := b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time)
		return cmp.Or(older, strings.Compare(a.GetName(), b.GetName()))
	})
}
