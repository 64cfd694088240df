// Package leader elects one of several replicas by a Lease. Controllers that must not run twice run under it.
package leader
