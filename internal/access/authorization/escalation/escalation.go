package escalation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Check refuses writes by which users would get, or give, rights that they do not have. As in kube-apiserver,
// users write roles with rules that they have, and bind roles whose rules they have. The verbs escalate and bind allow
// more, and the group system:masters may do everything.
type Check struct {
	Authorizer authorizer.Authorizer
	Rules      RuleResolver
}

// RuleResolver knows which rules the stored roles and bindings give. The escalation checks ask it, so it must see every
// write that was answered before the call: kubectl creates a role, and then binds it.
type RuleResolver interface {
	// RulesFor returns the rules that a user has in a namespace: those of the ClusterRoleBindings, and those of the
	// RoleBindings in the namespace unless that is empty. With an error, such as that of a binding to a missing role,
	// the rules are those that were found.
	RulesFor(ctx context.Context, u user.Info, namespace string) ([]rbacv1.PolicyRule, error)
	// GetRoleReferenceRules returns the rules of the role to which a binding refers. namespace is that of the binding;
	// it is empty for a ClusterRoleBinding. The error for a role that does not exist is the NotFound of a GET.
	GetRoleReferenceRules(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error)
}

// Plugins returns the plugins of the group.
func (c Check) Plugins() []resource.Plugin {
	return []resource.Plugin{
		plugin("roles", c.checkRole), plugin("clusterroles", c.checkClusterRole),
		plugin("rolebindings", c.checkRoleBinding), plugin("clusterrolebindings", c.checkClusterRoleBinding),
	}
}

// plugin returns the plugin of a resource of the group.
func plugin(plural string, check func(w *write) error) resource.Plugin {
	of := rbacv1.Resource(plural)
	authorize := func(ctx context.Context, obj, old runtime.Object) error {
		caller, ok := request.UserFrom(ctx)
		if !ok {
			return apierrors.NewInternalError(errors.New("no user"))
		}
		// Requests that the server makes to itself are those of a user who may do everything.
		if slices.Contains(caller.GetGroups(), user.SystemPrivilegedGroup) || onlyCollectorFields(obj, old) {
			return nil
		}
		return check(&write{Context: ctx, user: caller, resource: of, obj: obj, old: old})
	}
	return resource.Plugin{Resource: of, Authorize: authorize}
}

// write is a write of a role or binding.
type write struct {
	context.Context
	user     user.Info
	resource schema.GroupResource
	obj, old runtime.Object // old is nil for a new object
}

// forbidden is the answer to an escalation.
func (w *write) forbidden(name string, err error) error {
	return apierrors.NewForbidden(w.resource, name, err)
}

// onlyCollectorFields reports whether an update changes no more than finalizers and owners, which a garbage collector
// changes that does not have the rights of the role.
func onlyCollectorFields(obj, old runtime.Object) bool {
	if old == nil {
		return false
	}
	changed := obj.DeepCopyObject()
	m, before := changed.(metav1.Object), old.(metav1.Object)
	changed.GetObjectKind().SetGroupVersionKind(old.GetObjectKind().GroupVersionKind())
	m.SetOwnerReferences(before.GetOwnerReferences())
	m.SetFinalizers(before.GetFinalizers())
	m.SetManagedFields(before.GetManagedFields())
	m.SetSelfLink(before.GetSelfLink())
	return equality.Semantic.DeepEqual(changed, old)
}

// everything are the rules of a user who may write an aggregation rule, because that can gather any rule.
var everything = []rbacv1.PolicyRule{
	{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
}

func (c Check) checkRole(w *write) error {
	role := w.obj.(*rbacv1.Role)
	return c.checkRules(w, role.Name, role.Rules, false)
}

func (c Check) checkClusterRole(w *write) error {
	role := w.obj.(*rbacv1.ClusterRole)
	before, _ := w.old.(*rbacv1.ClusterRole)
	return c.checkRules(w, role.Name, role.Rules, aggregates(role) || aggregates(before))
}

func (c Check) checkRules(w *write, role string, rules []rbacv1.PolicyRule, aggregated bool) error {
	if c.mayEscalate(w) {
		return nil
	}
	err := c.confirm(w, rules)
	if err == nil && aggregated && c.confirm(w, everything) != nil {
		err = errors.New("must have cluster-admin privileges to use the aggregationRule")
	}
	if err != nil {
		return w.forbidden(role, err)
	}
	return nil
}

func aggregates(role *rbacv1.ClusterRole) bool {
	return role != nil && role.AggregationRule != nil && len(role.AggregationRule.ClusterRoleSelectors) > 0
}

func (c Check) checkRoleBinding(w *write) error {
	binding := w.obj.(*rbacv1.RoleBinding)
	// The object may leave the namespace out.
	return c.checkBinding(w, binding.Name, binding.RoleRef, request.NamespaceValue(w))
}

func (c Check) checkClusterRoleBinding(w *write) error {
	binding := w.obj.(*rbacv1.ClusterRoleBinding)
	return c.checkBinding(w, binding.Name, binding.RoleRef, "")
}

func (c Check) checkBinding(w *write, name string, ref rbacv1.RoleRef, namespace string) error {
	if c.mayBind(w, ref, namespace) {
		return nil
	}
	if roleResources[ref.Kind] == "" {
		return fmt.Errorf("unsupported role reference kind: %q", ref.Kind) // 500, as in kube-apiserver
	}
	granted, err := c.Rules.GetRoleReferenceRules(w, ref, namespace)
	if apierrors.IsNotFound(err) {
		return apierrors.NewNotFound(w.resource, ref.Name) // kube-apiserver names the resource of the request
	}
	if err != nil {
		return err
	}
	if err := c.confirm(w, granted); err != nil {
		return w.forbidden(name, err)
	}
	return nil
}

// roleResources are the resources of the kinds of roles.
var roleResources = map[string]string{"Role": "roles", "ClusterRole": "clusterroles"}

// mayEscalate reports whether the user may write the role of a request whatever its rules.
func (c Check) mayEscalate(w *write) bool {
	info, ok := request.RequestInfoFrom(w)
	return ok && info.IsResourceRequest && c.allows(w, authorizer.AttributesRecord{
		Verb: "escalate", APIGroup: info.APIGroup, Resource: info.Resource, Name: info.Name, Namespace: info.Namespace,
	})
}

// mayBind reports whether the user may bind a role whatever its rules. namespace is that of the binding, so that a user
// may be allowed to bind a ClusterRole in one namespace only.
func (c Check) mayBind(w *write, ref rbacv1.RoleRef, namespace string) bool {
	return roleResources[ref.Kind] != "" && c.allows(w, authorizer.AttributesRecord{
		Verb: "bind", APIGroup: ref.APIGroup, Resource: roleResources[ref.Kind], Name: ref.Name, Namespace: namespace,
	})
}

func (c Check) allows(w *write, attributes authorizer.AttributesRecord) bool {
	attributes.User, attributes.APIVersion, attributes.ResourceRequest = w.user, "*", true
	decision, _, err := c.Authorizer.Authorize(w, attributes)
	if err != nil && !errors.Is(w.Err(), context.Canceled) { // a client may leave
		klog.FromContext(w).Error(err, "Authorizing an escalation failed", "verb", attributes.Verb,
			"resource", attributes.Resource, "name", attributes.Name, "namespace", attributes.Namespace)
	}
	return decision == authorizer.DecisionAllow
}
