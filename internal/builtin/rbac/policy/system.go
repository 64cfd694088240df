package policy

import (
	"context"
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
)

const readerName = "extension-apiserver-authentication-reader"

// AuthenticationReader returns the role in kube-system of API servers, which read there by whom this server recognises
// its clients.
func AuthenticationReader() *rbacv1.Role {
	rule := may(read, core, "configmaps")
	rule.ResourceNames = []string{"extension-apiserver-authentication"}
	meta := metadata(readerName)
	meta.Namespace = metav1.NamespaceSystem
	return &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}
}

// AuthenticationReaders returns the binding that gives the role to the components of a control plane.
func AuthenticationReaders() *rbacv1.RoleBinding {
	meta := metadata("system::" + readerName)
	meta.Namespace = metav1.NamespaceSystem
	var subjects []rbacv1.Subject
	for _, name := range []string{user.KubeControllerManager, user.KubeScheduler} {
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name})
	}
	return &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: readerName},
	}
}

// reconcileSystem reconciles the role and the binding in kube-system.
func (r *Reconciler) reconcileSystem(ctx context.Context, client rbacclient.RbacV1Interface) error {
	namespaces, err := coreclient.NewForConfig(r.Client)
	if err != nil {
		return fmt.Errorf("client of the default roles: %w", err)
	}
	role, binding := AuthenticationReader(), AuthenticationReaders()
	ofRole := reconciliation.ReconcileRoleOptions{
		Role:    reconciliation.RoleRuleOwner{Role: role},
		Client:  reconciliation.RoleModifier{Client: client, NamespaceClient: namespaces.Namespaces()},
		Confirm: true,
	}
	ofBinding := reconciliation.ReconcileRoleBindingOptions{
		RoleBinding: reconciliation.RoleBindingAdapter{RoleBinding: binding},
		Client:      reconciliation.RoleBindingClientAdapter{Client: client, NamespaceClient: namespaces.Namespaces()},
		Confirm:     true,
	}
	return errors.Join(
		retrying(ctx, "Role", role.Name, func() (operation, bool, error) {
			result, err := ofRole.Run()
			if err != nil {
				return "", false, err
			}
			return result.Operation, result.Protected, nil
		}),
		retrying(ctx, "RoleBinding", binding.Name, func() (operation, bool, error) {
			result, err := ofBinding.Run()
			if err != nil {
				return "", false, err
			}
			return result.Operation, result.Protected, nil
		}))
}
