// Package scales makes autoscaling/v1 Scales of the objects of a resource, and puts the replicas of Scales into them.
//
// Begin at conversion.go. builtin.go has the Scales of built-in resources, customresource.go those of
// custom resources.
package scales
