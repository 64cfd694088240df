package resource

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Scale makes autoscaling/v1 Scales of the objects of a resource. The wanted number is the field spec.replicas.
type Scale struct {
	// Read returns the spec and the status of an object's Scale.
	Read func(obj runtime.Object) (autoscalingv1.ScaleSpec, autoscalingv1.ScaleStatus, error)
	// Write sets the wanted number of an object.
	Write func(obj runtime.Object, replicas int32)
}
