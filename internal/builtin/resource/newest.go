package resource

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Newest returns the newest of the objects that a function chooses, and of equally old ones the first by name. It
// returns the zero value if there are none.
func Newest[T metav1.Object](all []T, choose func(obj T) bool) (newest T) {
	found := false
	for _, obj := range all {
		if !choose(obj) {
			continue
		}
		if !found || isNewer(obj, newest) {
			found, newest = true, obj
		}
	}
	return newest
}

func isNewer(obj, than metav1.Object) bool {
	a, b := obj.GetCreationTimestamp(), than.GetCreationTimestamp()
	if a.Equal(&b) {
		return strings.Compare(obj.GetName(), than.GetName()) < 0
	}
	return b.Before(&a)
}
