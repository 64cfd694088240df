// Package policy has the rules of PodDisruptionBudgets. No controller computes their status; clients write it.
package policy
