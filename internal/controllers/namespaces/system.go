package namespaces

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// systemNamespaces exist in every server, in the order in which kube-apiserver creates them.
var systemNamespaces = []string{
	metav1.NamespaceSystem, metav1.NamespacePublic, metav1.NamespaceDefault, corev1.NamespaceNodeLease,
}

// SystemFields are the managed fields of a system namespace, in the format FieldsV1.
const SystemFields = `{"f:metadata":{"f:labels":{".":{},"f:kubernetes.io/metadata.name":{}}}}`

// System returns the system namespaces, which exist before a server is ready.
func System() []*corev1.Namespace {
	namespaces := make([]*corev1.Namespace, len(systemNamespaces))
	for n, name := range systemNamespaces {
		namespaces[n] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	return namespaces
}

// recreate creates a namespace that does not exist if it is one of the system's.
func (c *Controller) recreate(ctx context.Context, name string) error {
	if !slices.Contains(systemNamespaces, name) {
		return nil
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.client.Create(ctx, namespace, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}
