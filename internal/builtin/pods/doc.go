// Package pods has the rules of Pods and PodTemplates: which fields a write cannot change, what subresources do, and
// how long a pod stays after DELETE. Package podspec has the rules of their specification.
//
// Begin with definitions.go.
package pods
