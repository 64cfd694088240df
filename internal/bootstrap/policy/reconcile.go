package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/rbac"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Reconciler adds to the stored roles and bindings what defaults have and they lack, as kube-apiserver does at its
// start. It removes nothing, but replaces a binding to another role, and leaves objects alone whose annotation
// rbac.authorization.kubernetes.io/autoupdate is "false".
type Reconciler struct {
	Store *dynamicstorage.Store
	Set   *builtin.Set
	// Cluster says that the server has the roles of a cluster too.
	Cluster bool
	// Client is of this server, as a user that may do everything.
	Client *rest.Config
}

// Run reconciles all stored objects once. An object that cannot be written does not keep it from the others. Objects
// that are as they should be cost a read of the store.
func (r *Reconciler) Run(ctx context.Context) error {
	core, err := coreclient.NewForConfig(r.Client)
	if err != nil {
		return fmt.Errorf("client of the default roles: %w", err)
	}
	client, err := rbacclient.NewForConfig(r.Client)
	if err != nil {
		return fmt.Errorf("client of the default roles: %w", err)
	}
	defaults := map[string]Object{}
	for _, obj := range Default(r.Cluster) {
		key := obj.GetName()
		if obj.GetNamespace() != "" {
			key = obj.GetNamespace() + "/" + key
		}
		defaults[obj.GetObjectKind().GroupVersionKind().Kind+"/"+key] = obj
	}
	var errs []error
	for _, plural := range []string{"clusterroles", "clusterrolebindings", "roles", "rolebindings"} {
		different, err := r.different(ctx, plural, defaults)
		errs = append(errs, err)
		for _, obj := range different {
			errs = append(errs, reconcile(ctx, client, core, obj))
		}
	}
	return errors.Join(errs...)
}

// different returns the defaults of a resource that are stored otherwise. defaults are by kind and key in the store.
func (r *Reconciler) different(
	ctx context.Context, plural string, defaults map[string]Object,
) (different []Object, err error) {
	d := r.Set.Find(rbacv1.Resource(plural))
	snapshot, err := r.Store.ResourceAt(d.StorageFolder()).Snapshot(ctx,
		dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", plural, err)
	}
	for entry, err := range snapshot.Ascend(ctx, "", "") {
		if err != nil {
			return different, fmt.Errorf("list %s: %w", plural, err)
		}
		obj, isDefault := defaults[d.Kind+"/"+entry.Key]
		if !isDefault {
			continue
		}
		found, err := r.Set.Codec(d).Object(entry)
		if err != nil {
			return different, err
		}
		if !equal(found, obj) {
			different = append(different, obj)
		}
	}
	return different, nil
}

// equal reports whether a stored object is just as its default. Asking the library allocates a megabyte at each start.
// The rules of aggregated roles are the business of a controller.
func equal(stored runtime.Object, obj Object) bool {
	found := stored.(Object)
	if !maps.Equal(found.GetLabels(), obj.GetLabels()) || !maps.Equal(found.GetAnnotations(), obj.GetAnnotations()) {
		return false
	}
	switch obj := obj.(type) {
	case *rbacv1.ClusterRole:
		found := found.(*rbacv1.ClusterRole)
		return equality.Semantic.DeepEqual(found.AggregationRule, obj.AggregationRule) &&
			(obj.AggregationRule != nil || slices.EqualFunc(found.Rules, obj.Rules, rbac.SameRule))
	case *rbacv1.Role:
		return slices.EqualFunc(found.(*rbacv1.Role).Rules, obj.Rules, rbac.SameRule)
	case *rbacv1.ClusterRoleBinding:
		found := found.(*rbacv1.ClusterRoleBinding)
		return found.RoleRef == obj.RoleRef && slices.Equal(found.Subjects, obj.Subjects)
	case *rbacv1.RoleBinding:
		found := found.(*rbacv1.RoleBinding)
		return found.RoleRef == obj.RoleRef && slices.Equal(found.Subjects, obj.Subjects)
	}
	return false
}

// reconcile reconciles an object, again if another server changed it meanwhile, and logs what was done.
func reconcile(
	ctx context.Context, client rbacclient.RbacV1Interface, core coreclient.CoreV1Interface, obj Object,
) error {
	var attempt func() (done reconciliation.ReconcileOperation, protected bool, err error)
	switch obj := obj.(type) {
	case *rbacv1.ClusterRole:
		attempt = roleAttempt(reconciliation.ClusterRoleRuleOwner{ClusterRole: obj},
			reconciliation.ClusterRoleModifier{Client: client.ClusterRoles()})
	case *rbacv1.Role:
		attempt = roleAttempt(reconciliation.RoleRuleOwner{Role: obj},
			reconciliation.RoleModifier{Client: client, NamespaceClient: core.Namespaces()})
	case *rbacv1.ClusterRoleBinding:
		attempt = bindingAttempt(reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: obj},
			reconciliation.ClusterRoleBindingClientAdapter{Client: client.ClusterRoleBindings()})
	case *rbacv1.RoleBinding:
		attempt = bindingAttempt(reconciliation.RoleBindingAdapter{RoleBinding: obj},
			reconciliation.RoleBindingClientAdapter{Client: client, NamespaceClient: core.Namespaces()})
	}
	kind, name := obj.GetObjectKind().GroupVersionKind().Kind, obj.GetName()
	var done reconciliation.ReconcileOperation
	var protected bool
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		done, protected, err = attempt()
		return err
	})
	switch log := klog.FromContext(ctx); {
	case err != nil:
		return fmt.Errorf("reconcile %s %s: %w", kind, name, err)
	case done == reconciliation.ReconcileNone:
	case protected:
		log.Info("A default role or binding is out of date, and its annotation keeps it so", "kind", kind, "name", name)
	default:
		log.V(2).Info("Reconciled a default role or binding", "kind", kind, "name", name, "operation", done)
	}
	return nil
}

func roleAttempt(
	role reconciliation.RuleOwner, client reconciliation.RuleOwnerModifier,
) func() (reconciliation.ReconcileOperation, bool, error) {
	options := reconciliation.ReconcileRoleOptions{Role: role, Client: client, Confirm: true}
	return func() (reconciliation.ReconcileOperation, bool, error) {
		result, err := options.Run()
		if err != nil {
			return "", false, err
		}
		return result.Operation, result.Protected, nil
	}
}

func bindingAttempt(
	binding reconciliation.RoleBinding, client reconciliation.RoleBindingModifier,
) func() (reconciliation.ReconcileOperation, bool, error) {
	options := reconciliation.ReconcileRoleBindingOptions{RoleBinding: binding, Client: client, Confirm: true}
	return func() (reconciliation.ReconcileOperation, bool, error) {
		result, err := options.Run()
		if err != nil {
			return "", false, err
		}
		return result.Operation, result.Protected, nil
	}
}
