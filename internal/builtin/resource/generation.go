package resource

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Begin makes a new object one of the first generation, without a status.
func Begin[T metav1.Object](obj T) {
	dropStatus(obj)
	obj.SetGeneration(1)
}

// Follow keeps the status of an object that is updated, and counts a change of its specification.
func Follow[T metav1.Object](obj, old T) {
	keepStatus(obj, old)
	if !equality.Semantic.DeepEqual(fieldOf(obj, "Spec").Interface(), fieldOf(old, "Spec").Interface()) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
}

// KeepSpec keeps the specification of an object whose status is updated.
func KeepSpec[T metav1.Object](obj, old T) { fieldOf(obj, "Spec").Set(fieldOf(old, "Spec")) }

// StatusRules returns the strategy of a status: it keeps the specification, checks the metadata, and calls check.
func StatusRules[T interface {
	runtime.Object
	metav1.Object
}](check func(obj, old T) field.ErrorList) Typed[T] {
	return Typed[T]{Name: apivalidation.NameIsDNSSubdomain, PrepareUpdate: KeepSpec[T], CheckUpdate: check}
}

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
