package resource

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Begin makes a new object one of the first generation, without a status.
func Begin[T metav1.Object](obj T) {
	fieldOf(obj, "Status").SetZero()
	obj.SetGeneration(1)
}

// Follow keeps the status of an object that is updated, and counts a change of its specification.
func Follow[T metav1.Object](obj, old T) {
	fieldOf(obj, "Status").Set(fieldOf(old, "Status"))
	if !equality.Semantic.DeepEqual(fieldOf(obj, "Spec").Interface(), fieldOf(old, "Spec").Interface()) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
}

// KeepSpec keeps the specification of an object whose status is updated.
func KeepSpec[T metav1.Object](obj, old T) { fieldOf(obj, "Spec").Set(fieldOf(old, "Spec")) }

// WhenChanged returns a function that warns about updates that Follow has counted.
func WhenChanged[T metav1.Object](warn func(T) []string) func(obj, old T) []string {
	return func(obj, old T) []string {
		if obj.GetGeneration() == old.GetGeneration() {
			return nil
		}
		return warn(obj)
	}
}

func fieldOf(obj metav1.Object, name string) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName(name)
}
