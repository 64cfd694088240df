// Package apps has the rules of workloads: the kinds of apps/v1, and ReplicationControllers of core/v1, which are older
// ReplicaSets. No controller acts on them.
//
// Begin with definitions.go. A file has the rules of one kind; template.go has those that kinds share.
package apps
