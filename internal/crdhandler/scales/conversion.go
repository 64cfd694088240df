package scales

import "k8s.io/apimachinery/pkg/runtime"

// Conversion converts between the objects of a resource and autoscaling/v1 Scales. A write of a Scale stores its
// replicas only.
type Conversion interface {
	// Of returns the Scale of an object. It fails if the object does not have the field of wanted replicas.
	Of(parent runtime.Object) (runtime.Object, error)
	// Shown returns the Scale of an object for admission, and after a write. It has zero replicas if the object does
	// not have the field.
	Shown(parent runtime.Object) (runtime.Object, error)
	// Edit returns the Scale of an object, with the managed fields that concern it, and a function that returns a copy
	// of the object with a changed Scale in it.
	Edit(parent runtime.Object) (runtime.Object, func(runtime.Object) (runtime.Object, error), error)
}
