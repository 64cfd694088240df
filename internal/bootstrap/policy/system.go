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

// authenticationReader returns the role in kube-system of API servers, which read there by whom this server recognises
// its clients.
func authenticationReader() *rbacv1.Role {
	rule := may(read, core, "configmaps")
	rule.ResourceNames = []string{"extension-apiserver-authentication"}
	return &rbacv1.Role{
		ObjectMeta: namespacedMetadata(metav1.NamespaceSystem, readerName), Rules: []rbacv1.PolicyRule{rule},
	}
}

// authenticationReaders returns the binding that gives the role to the components of a control plane.
func authenticationReaders() *rbacv1.RoleBinding {
	var subjects []rbacv1.Subject
	for _, name := range []string{user.KubeControllerManager, user.KubeScheduler} {
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name})
	}
	return &rbacv1.RoleBinding{
		ObjectMeta: namespacedMetadata(metav1.NamespaceSystem, "system::"+readerName), Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: readerName},
	}
}

// reconcileNamespaced reconciles the roles and bindings in namespaces.
func (r *Reconciler) reconcileNamespaced(ctx context.Context, client rbacclient.RbacV1Interface, p *Policy) error {
	core, err := coreclient.NewForConfig(r.Client)
	if err != nil {
		return fmt.Errorf("client of the default roles: %w", err)
	}
	var errs []error
	for _, role := range p.Roles {
		options := reconciliation.ReconcileRoleOptions{
			Role:    reconciliation.RoleRuleOwner{Role: role},
			Client:  reconciliation.RoleModifier{Client: client, NamespaceClient: core.Namespaces()},
			Confirm: true,
		}
		errs = append(errs, retrying(ctx, "Role", role.Name, func() (operation, bool, error) {
			result, err := options.Run()
			if err != nil {
				return "", false, err
			}
			return result.Operation, result.Protected, nil
		}))
	}
	for _, binding := range p.RoleBindings {
		options := reconciliation.ReconcileRoleBindingOptions{
			RoleBinding: reconciliation.RoleBindingAdapter{RoleBinding: binding},
			Client:      reconciliation.RoleBindingClientAdapter{Client: client, NamespaceClient: core.Namespaces()},
			Confirm:     true,
		}
		errs = append(errs, retrying(ctx, "RoleBinding", binding.Name, func() (operation, bool, error) {
			result, err := options.Run()
			if err != nil {
				return "", false, err
			}
			return result.Operation, result.Protected, nil
		}))
	}
	return errors.Join(errs...)
}
