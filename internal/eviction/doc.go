// Package eviction evicts pods: it deletes a pod unless a PodDisruptionBudget forbids that. Clients call it by the
// subresource pods/eviction.
package eviction
