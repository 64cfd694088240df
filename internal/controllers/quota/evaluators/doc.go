// Package evaluators knows what objects use of resource quotas: Pods, Services, claims of volumes and of devices, and
// all others by their number. The evaluators are for the admission plugin ResourceQuota of apiserver, whose arithmetic
// they call.
package evaluators
