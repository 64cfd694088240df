// Package events has the rules of events, which two groups serve: core/v1 and events.k8s.io/v1. There is one storage,
// which holds objects of core/v1, so an event that is created in one group is read in the other.
//
// Objects of events.k8s.io/v1 are validated as kube-apiserver does it: converted to core/v1, because errors name the
// fields of that version. Its rules are stricter than those of core/v1, which has to accept what old clients send.
//
// Begin with definitions.go.
package events
