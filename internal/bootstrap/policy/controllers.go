package policy

import rbacv1 "k8s.io/api/rbac/v1"

// controllerRolePrefix and the name of a service account in kube-system are the name of a controller's role.
const controllerRolePrefix = "system:controller:"

// controllerRoles returns the roles of controllers that kube-controller-manager can run on this server, each as a
// service account of its own. The server's own controllers need none of them.
func controllerRoles() []*rbacv1.ClusterRole {
	policies := []string{"admissionregistration.k8s.io"}
	return []*rbacv1.ClusterRole{
		controllerRole("clusterrole-aggregation-controller",
			may([]string{"escalate", "get", "list", "patch", "update", "watch"}, rbacGroup, "clusterroles")),
		controllerRole("generic-garbage-collector",
			may([]string{"delete", "get", "list", "patch", "update", "watch"}, anything, "*"), recordEvents()),
		controllerRole("namespace-controller",
			may([]string{"delete", "get", "list", "watch"}, core, "namespaces"),
			may([]string{"update"}, core, "namespaces/finalize", "namespaces/status"),
			may([]string{"delete", "deletecollection", "get", "list", "watch"}, anything, "*")),
		controllerRole("resourcequota-controller",
			may([]string{"list", "watch"}, anything, "*"),
			may([]string{"update"}, core, "resourcequotas/status"), recordEvents()),
		controllerRole("root-ca-cert-publisher",
			may([]string{"create", "update"}, core, "configmaps"), recordEvents()),
		controllerRole("service-account-controller", may(create, core, "serviceaccounts"), recordEvents()),
		controllerRole("validatingadmissionpolicy-status-controller",
			may(read, policies, "validatingadmissionpolicies"),
			may([]string{"get", "patch", "update"}, policies, "validatingadmissionpolicies/status"), recordEvents()),
	}
}

func controllerRole(controller string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return newRole(controllerRolePrefix+controller, rules...)
}

func recordEvents() rbacv1.PolicyRule {
	return may([]string{"create", "patch", "update"}, events, "events")
}
