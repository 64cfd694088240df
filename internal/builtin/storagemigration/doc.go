// Package storagemigration has the rules of storagemigration.k8s.io: requests to write all objects of a resource again
// in its storage version. Nothing here does that: a controller does.
package storagemigration
