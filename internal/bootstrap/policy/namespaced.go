package policy

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// namespacedRoles returns the roles that users are given in a namespace. Each has the rules of all roles that have its
// label: view those of system:aggregate-to-view, edit also those of view, and admin also those of edit.
func namespacedRoles() []*rbacv1.ClusterRole {
	return []*rbacv1.ClusterRole{
		aggregated("admin"),
		labeled(aggregated("edit"), "admin"),
		labeled(aggregated("view"), "edit"),
		labeled(newRole("system:aggregate-to-admin",
			may(create, authorization, "localsubjectaccessreviews"),
			may(readWrite, rbacGroup, "rolebindings", "roles")), "admin"),
		labeled(newRole("system:aggregate-to-edit", editRules()...), "edit"),
		labeled(newRole("system:aggregate-to-view", viewRules()...), "view"),
	}
}

// aggregated returns a role that has the rules of the roles with its label.
func aggregated(name string) *rbacv1.ClusterRole {
	role := newRole(name)
	role.AggregationRule = &rbacv1.AggregationRule{
		ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{aggregateTo + name: "true"}}},
	}
	return role
}

// viewRules allow to read what is in a namespace, but for Secrets, with which a user could become another one.
func viewRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		may(read, core, "configmaps", "endpoints", "persistentvolumeclaims", "persistentvolumeclaims/status", "pods",
			"replicationcontrollers", "replicationcontrollers/scale", "serviceaccounts", "services", "services/status"),
		may(read, core, "bindings", "limitranges", "namespaces/status", "pods/log", "pods/status",
			"replicationcontrollers/status", "resourcequotas", "resourcequotas/status"),
		may(read, core, "namespaces"),
		may(read, events, "events"),
		may(read, []string{"discovery.k8s.io"}, "endpointslices"),
		may(read, []string{"apps"}, "controllerrevisions", "daemonsets", "daemonsets/status", "deployments",
			"deployments/scale", "deployments/status", "replicasets", "replicasets/scale", "replicasets/status",
			"statefulsets", "statefulsets/scale", "statefulsets/status"),
		may(read, []string{"autoscaling"}, "horizontalpodautoscalers", "horizontalpodautoscalers/status"),
		may(read, []string{"batch"}, "cronjobs", "cronjobs/status", "jobs", "jobs/status"),
		may(read, []string{"extensions"}, "daemonsets", "daemonsets/status", "deployments", "deployments/scale",
			"deployments/status", "ingresses", "ingresses/status", "networkpolicies", "replicasets", "replicasets/scale",
			"replicasets/status", "replicationcontrollers/scale"),
		may(read, []string{"policy"}, "poddisruptionbudgets", "poddisruptionbudgets/status"),
		may(read, []string{"networking.k8s.io"}, "ingresses", "ingresses/status", "networkpolicies"),
		may(read, []string{"resource.k8s.io"}, "resourceclaims", "resourceclaims/status", "resourceclaimtemplates"),
	}
}

// editRules allow to change what is in a namespace, but for what controls the namespace itself: roles, quotas and
// status.
func editRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		may(read, core, "pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "secrets", "services/proxy"),
		may([]string{"impersonate"}, core, "serviceaccounts"),
		may(write, core, "pods", "pods/attach", "pods/exec", "pods/portforward", "pods/proxy"),
		may(create, core, "pods/eviction"),
		may(write, core, "configmaps", "persistentvolumeclaims", "replicationcontrollers", "replicationcontrollers/scale",
			"secrets", "serviceaccounts", "services", "services/proxy"),
		may(create, core, "serviceaccounts/token"),
		may(write, events, "events"),
		may(write, []string{"apps"}, "daemonsets", "deployments", "deployments/rollback", "deployments/scale",
			"replicasets", "replicasets/scale", "statefulsets", "statefulsets/scale"),
		may(write, []string{"autoscaling"}, "horizontalpodautoscalers"),
		may(write, []string{"batch"}, "cronjobs", "jobs"),
		may(write, []string{"extensions"}, "daemonsets", "deployments", "deployments/rollback", "deployments/scale",
			"ingresses", "networkpolicies", "replicasets", "replicasets/scale", "replicationcontrollers/scale"),
		may(write, []string{"policy"}, "poddisruptionbudgets"),
		may(write, []string{"networking.k8s.io"}, "ingresses", "networkpolicies"),
		may(readWrite, []string{"coordination.k8s.io"}, "leases"),
		may(write, []string{"resource.k8s.io"}, "resourceclaims", "resourceclaimtemplates"),
	}
}
