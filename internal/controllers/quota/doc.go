// Package quota limits the objects in a namespace, and what they use, by the resource quotas of the namespace. Package
// evaluators below it knows what an object uses.
//
// admission.go reserves what a new or updated object uses in status.used before it is stored, or refuses it.
// controller.go and usage.go keep the status of quotas: one replica runs the controller. names.go finds the resources
// that a quota counts, and tally.go follows what their objects use.
package quota
