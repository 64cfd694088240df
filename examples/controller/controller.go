// Package controller is a controller as controller-runtime's users write them, with a test that gives it a server of
// its own. It keeps a ConfigMap beside each Table, with the number of legs to order.
package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// TableKind is the kind of tables.
var TableKind = schema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: "Table"}

// Reconciler writes the orders of tables.
type Reconciler struct{ client.Client }

// SetupWithManager makes the manager run the controller.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	table := &unstructured.Unstructured{}
	table.SetGroupVersionKind(TableKind)
	return ctrl.NewControllerManagedBy(manager).For(table).Owns(&corev1.ConfigMap{}).Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	table := &unstructured.Unstructured{}
	table.SetGroupVersionKind(TableKind)
	if err := r.Get(ctx, request.NamespacedName, table); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	legs, _, err := unstructured.NestedInt64(table.Object, "spec", "legs")
	if err != nil {
		return ctrl.Result{}, err
	}
	order := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name + "-order"}}
	_, err = controllerutil.CreateOrUpdate(ctx, r.Client, order, func() error {
		order.Data = map[string]string{"legs": fmt.Sprint(legs)}
		return controllerutil.SetControllerReference(table, order, r.Scheme())
	})
	return ctrl.Result{}, err
}
