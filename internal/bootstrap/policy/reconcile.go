package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/rbac/aggregation"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Reconciler adds to the stored roles and bindings what defaults have and they lack, as kube-apiserver does at its
// start. It removes nothing, but replaces a binding to another role, and leaves objects alone whose annotation
// rbac.authorization.kubernetes.io/autoupdate is "false".
type Reconciler struct {
	Store *dynamicstorage.Store
	Set   *builtin.Set
	// ClusterRoles and ClusterRoleBindings are the definitions in the set.
	ClusterRoles, ClusterRoleBindings *resource.Definition
	// Cluster says that the server has the roles of a cluster too.
	Cluster bool
	// Client is of this server, as a user that may do everything.
	Client *rest.Config
}

// Run reconciles all objects once. An object that cannot be written does not keep it from the others. Objects that are
// as they should be cost a read of the store.
func (r *Reconciler) Run(ctx context.Context) error {
	client, err := rbacclient.NewForConfig(r.Client)
	if err != nil {
		return fmt.Errorf("client of the default roles: %w", err)
	}
	defaults := Default(r.Cluster)
	roles, err := r.read(ctx, r.ClusterRoles, defaults)
	if err != nil {
		return err
	}
	bindings, err := r.read(ctx, r.ClusterRoleBindings, defaults)
	if err != nil {
		return err
	}
	return errors.Join(r.reconcileRoles(ctx, client, defaults, roles),
		r.reconcileBindings(ctx, client, defaults, bindings), r.reconcileNamespaced(ctx, client, defaults))
}

// stored are the objects with the names of defaults; nil for those that do not exist.
type stored map[string]runtime.Object

// read returns the stored objects of a resource that have the names of defaults.
func (r *Reconciler) read(ctx context.Context, d *resource.Definition, defaults *Policy) (stored, error) {
	objects := stored{}
	for _, role := range defaults.ClusterRoles {
		objects[role.Name] = nil // bindings have the same names
	}
	snapshot, err := r.Store.ResourceAt(d.StorageFolder()).Snapshot(ctx,
		dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", d.Plural, err)
	}
	codec := r.Set.Codec(d)
	for entry, err := range snapshot.Ascend(ctx, "", "") {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", d.Plural, err)
		}
		if _, isDefault := objects[entry.Key]; !isDefault {
			continue
		}
		if objects[entry.Key], err = codec.Object(entry); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// take returns an object, and forgets it so that a second attempt reads it by a request. known is false then.
func (s stored) take(name string) (obj runtime.Object, known bool) {
	obj, known = s[name]
	delete(s, name)
	return obj, known
}

func (r *Reconciler) reconcileRoles(
	ctx context.Context, client rbacclient.ClusterRolesGetter, defaults *Policy, roles stored,
) error {
	var errs []error
	initial := sync.OnceValue(func() *Policy { return Default(r.Cluster).Aggregate() })
	for n, role := range defaults.ClusterRoles {
		switch found := roles[role.Name]; {
		case found == nil:
			role = initial().ClusterRoles[n] // else the rules of an aggregated role are the business of the controller
		case hasRules(found.(*rbacv1.ClusterRole), role):
			continue
		}
		options := reconciliation.ReconcileRoleOptions{
			Role:    reconciliation.ClusterRoleRuleOwner{ClusterRole: role},
			Client:  roleModifier{reconciliation.ClusterRoleModifier{Client: client.ClusterRoles()}, roles},
			Confirm: true,
		}
		errs = append(errs, retrying(ctx, "ClusterRole", role.Name, func() (operation, bool, error) {
			result, err := options.Run()
			if err != nil {
				return "", false, err
			}
			return result.Operation, result.Protected, nil
		}))
	}
	return errors.Join(errs...)
}

// hasRules reports whether a stored role is just as its default. Asking the library allocates a megabyte at each start.
func hasRules(found, role *rbacv1.ClusterRole) bool {
	return equality.Semantic.DeepEqual(found.AggregationRule, role.AggregationRule) &&
		(role.AggregationRule != nil || slices.EqualFunc(found.Rules, role.Rules, aggregation.SameRule)) &&
		maps.Equal(found.Labels, role.Labels) && maps.Equal(found.Annotations, role.Annotations)
}

func (r *Reconciler) reconcileBindings(
	ctx context.Context, client rbacclient.ClusterRoleBindingsGetter, defaults *Policy, bindings stored,
) error {
	var errs []error
	for _, binding := range defaults.ClusterRoleBindings {
		adapter := reconciliation.ClusterRoleBindingClientAdapter{Client: client.ClusterRoleBindings()}
		options := reconciliation.ReconcileRoleBindingOptions{
			RoleBinding: reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: binding},
			Client:      bindingModifier{adapter, bindings},
			Confirm:     true,
		}
		errs = append(errs, retrying(ctx, "ClusterRoleBinding", binding.Name, func() (operation, bool, error) {
			result, err := options.Run()
			if err != nil {
				return "", false, err
			}
			return result.Operation, result.Protected, nil
		}))
	}
	return errors.Join(errs...)
}

// operation is what was done to an object.
type operation = reconciliation.ReconcileOperation

// retrying reconciles an object, again if another server changed it meanwhile, and logs what was done.
func retrying(ctx context.Context, kind, name string, reconcile func() (operation, bool, error)) error {
	var done operation
	var protected bool
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		done, protected, err = reconcile()
		return err
	})
	if err != nil {
		return fmt.Errorf("reconcile %s %s: %w", kind, name, err)
	}
	if done != reconciliation.ReconcileNone && protected {
		klog.FromContext(ctx).Info("A default role or binding is out of date, and its annotation keeps it so",
			"kind", kind, "name", name)
	} else if done != reconciliation.ReconcileNone {
		klog.FromContext(ctx).V(2).Info("Reconciled a default role or binding",
			"kind", kind, "name", name, "operation", done)
	}
	return nil
}

// roleModifier reads stored roles without a request.
type roleModifier struct {
	reconciliation.ClusterRoleModifier
	roles stored
}

// Get returns the role as it was read, and later as it is.
func (m roleModifier) Get(namespace, name string) (reconciliation.RuleOwner, error) {
	switch role, known := m.roles.take(name); {
	case !known:
		return m.ClusterRoleModifier.Get(namespace, name)
	case role == nil:
		return nil, apierrors.NewNotFound(rbacv1.Resource("clusterroles"), name)
	default:
		return reconciliation.ClusterRoleRuleOwner{ClusterRole: role.(*rbacv1.ClusterRole)}, nil
	}
}

// bindingModifier is roleModifier for bindings.
type bindingModifier struct {
	reconciliation.ClusterRoleBindingClientAdapter
	bindings stored
}

// Get returns the binding as it was read, and later as it is.
func (m bindingModifier) Get(namespace, name string) (reconciliation.RoleBinding, error) {
	switch binding, known := m.bindings.take(name); {
	case !known:
		return m.ClusterRoleBindingClientAdapter.Get(namespace, name)
	case binding == nil:
		return nil, apierrors.NewNotFound(rbacv1.Resource("clusterrolebindings"), name)
	default:
		return reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: binding.(*rbacv1.ClusterRoleBinding)}, nil
	}
}
