// Package autoscaling has the rules of HorizontalPodAutoscalers, in autoscaling/v2 and in v1. There is one storage,
// which holds objects of v2. Objects of v1 have what their version lacks in annotations, as those of kube-apiserver.
//
// Begin with definitions.go. conversion.go converts between the versions.
package autoscaling
