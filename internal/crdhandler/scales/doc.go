// Package scales makes autoscaling/v1 Scales of custom resources, and puts the replicas of Scales into them.
package scales
