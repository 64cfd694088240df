package rbac

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// operation is a write of an object.
type operation string

const (
	create  operation = "create"
	replace operation = "replace"
	remove  operation = "remove"
)

// write sends an object, and returns the reason of a refusal.
func (s *server) write(ctx context.Context, op operation, obj object) (metav1.StatusReason, error) {
	var err error
	rbac := s.RbacV1()
	switch {
	case obj.role != nil:
		err = send(ctx, op, rbac.Roles(obj.role.Namespace), obj.role)
	case obj.clusterRole != nil:
		err = send(ctx, op, rbac.ClusterRoles(), obj.clusterRole)
	case obj.binding != nil:
		err = send(ctx, op, rbac.RoleBindings(obj.binding.Namespace), obj.binding)
	default:
		err = send(ctx, op, rbac.ClusterRoleBindings(), obj.clusterBinding)
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Reason, nil
	}
	return "", err
}

// client is the client of one of the kinds.
type client[T any] interface {
	Create(ctx context.Context, obj T, options metav1.CreateOptions) (T, error)
	Update(ctx context.Context, obj T, options metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

func send[T metav1.Object](ctx context.Context, op operation, to client[T], obj T) error {
	var err error
	switch op {
	case create:
		_, err = to.Create(ctx, obj, metav1.CreateOptions{})
	case replace:
		_, err = to.Update(ctx, obj, metav1.UpdateOptions{})
	case remove:
		err = to.Delete(ctx, obj.GetName(), metav1.DeleteOptions{})
	}
	return err
}

// prepare creates the namespaces and service accounts.
func (s *server) prepare(ctx context.Context) error {
	for n := range namespaces {
		name := fmt.Sprintf("n%d", n)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := s.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return err
		}
		for a := range accounts {
			if err := s.createAccount(ctx, name, fmt.Sprintf("robot%d", a)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *server) createAccount(ctx context.Context, namespace, name string) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := s.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
	return err
}
