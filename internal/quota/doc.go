// Package quota counts objects in the resource quotas of their namespaces: count/<resource>.<group>, and the older
// names configmaps, secrets, resourcequotas and replicationcontrollers.
//
// admission.go reserves a new object in status.used before it is stored, or refuses it. controller.go and usage.go keep
// the status of quotas: one replica runs the controller. names.go finds the resource that a name in a quota counts.
package quota
