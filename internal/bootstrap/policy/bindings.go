package policy

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// The bindings that were one before Kubernetes 1.14: a server that has only the first gives the second what it has.
const (
	Discovery        = "system:discovery"
	PublicInfoViewer = "system:public-info-viewer"
)

// clusterRoleBindings returns the default ClusterRoleBindings of every server.
func clusterRoleBindings() []*rbacv1.ClusterRoleBinding {
	bindings := []*rbacv1.ClusterRoleBinding{
		bind("cluster-admin", groups(user.SystemPrivilegedGroup)...),
		// Before that of Discovery, so that it is like that one only if the server has been started before.
		bind(PublicInfoViewer, groups(user.AllAuthenticated, user.AllUnauthenticated)...),
		bind("system:monitoring", groups(user.MonitoringGroup)...),
		bind(Discovery, groups(user.AllAuthenticated)...),
		bind("system:basic-user", groups(user.AllAuthenticated)...),
		bind("system:service-account-issuer-discovery", groups(serviceaccount.AllServiceAccountsGroup)...),
	}
	for _, role := range controllerRoles() {
		bindings = append(bindings, bind(role.Name, rbacv1.Subject{
			Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem,
			Name: strings.TrimPrefix(role.Name, controllerRolePrefix),
		}))
	}
	return bindings
}

func bind(role string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metadata(role), Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
}

func groups(names ...string) []rbacv1.Subject {
	subjects := make([]rbacv1.Subject, len(names))
	for n, name := range names {
		subjects[n] = rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: name}
	}
	return subjects
}
