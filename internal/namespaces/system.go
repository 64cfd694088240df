package namespaces

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// systemNamespaces exist in every server, in the order in which kube-apiserver creates them.
var systemNamespaces = []string{metav1.NamespaceSystem, metav1.NamespacePublic, metav1.NamespaceDefault, corev1.NamespaceNodeLease}

// EnsureSystem creates the system namespaces that do not exist. Several replicas may do so at the same time.
func (c *Controller) EnsureSystem(ctx context.Context) error {
	var errs []error
	for _, name := range systemNamespaces {
		_, err := c.client.get(ctx, name)
		if apierrors.IsNotFound(err) {
			err = c.recreate(ctx, name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("create namespace %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// recreate creates a namespace that does not exist if it is one of the system's.
func (c *Controller) recreate(ctx context.Context, name string) error {
	if !slices.Contains(systemNamespaces, name) {
		return nil
	}
	if err := c.client.create(ctx, name); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}
