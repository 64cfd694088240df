package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/crd-server/crd-server/internal/bootstrap"
	"github.com/crd-server/crd-server/internal/builtin/apiregistration"
	"github.com/crd-server/crd-server/internal/builtin/rbac/policy"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/namespaces"
	"github.com/crd-server/crd-server/internal/server/datadir"
	"github.com/crd-server/crd-server/internal/serviceaccounts"
)

// systemObjects are the objects that every server has.
type systemObjects struct {
	*stored
	objects []bootstrap.Object
	// exist is closed when all of them have been created.
	exist chan struct{}
}

func newSystemObjects(s *stored) *systemObjects {
	return &systemObjects{stored: s, exist: make(chan struct{})}
}

// addAll adds the objects of all resources that are served.
func (o *systemObjects) addAll(
	options *ValidOptions, a *access, services *apiregistration.Controller, roles *roleParts,
) error {
	o.addNamespaces()
	o.addAPIServices(services)
	o.addRoles(roles)
	o.addClusterService(options)
	o.addPriorityClasses()
	if err := o.addTrust(a.published); err != nil {
		return err
	}
	return o.addAccounts(&options.Resources, a.trust)
}

// addNamespaces adds the system namespaces, if namespaces are served.
func (o *systemObjects) addNamespaces() {
	definition := o.builtins.Find(schema.GroupResource{Resource: "namespaces"})
	if definition == nil {
		return
	}
	for _, namespace := range namespaces.System() {
		o.objects = append(o.objects, bootstrap.Object{
			Definition: definition, Object: namespace, Fields: namespaces.SystemFields,
		})
	}
}

// addAPIServices adds the APIServices of built-in resources, if APIServices are served.
func (o *systemObjects) addAPIServices(services *apiregistration.Controller) {
	definition := o.builtins.Find(apiregistrationv1.Resource("apiservices"))
	if definition == nil {
		return
	}
	for _, service := range services.Initial() {
		o.objects = append(o.objects, bootstrap.Object{Definition: definition, Object: service})
	}
}

// addRoles adds the default roles and bindings, if they are served.
func (o *systemObjects) addRoles(roles *roleParts) {
	if roles == nil {
		return
	}
	defaults := policy.Default(roles.defaults.Cluster).Aggregate()
	for _, role := range defaults.ClusterRoles {
		o.objects = append(o.objects, bootstrap.Object{
			Definition: roles.defaults.ClusterRoles, Object: role, Fields: policy.RoleFields(role),
		})
	}
	for _, binding := range defaults.ClusterRoleBindings {
		object := bootstrap.Object{
			Definition: roles.defaults.ClusterRoleBindings, Object: binding,
			Fields: policy.BindingFields(binding, binding.Subjects),
		}
		if binding.Name == policy.PublicInfoViewer {
			object.Complete = o.likeDiscovery(roles.defaults.ClusterRoleBindings)
		}
		o.objects = append(o.objects, object)
	}
	o.addNamespacedRoles(defaults)
}

// addNamespacedRoles adds the default roles and bindings in namespaces, if they are served.
func (o *systemObjects) addNamespacedRoles(defaults *policy.Policy) {
	roles := o.builtins.Find(rbacv1.Resource("roles"))
	bindings := o.builtins.Find(rbacv1.Resource("rolebindings"))
	if roles == nil || bindings == nil {
		return
	}
	for _, role := range defaults.Roles {
		o.objects = append(o.objects, bootstrap.Object{
			Definition: roles, Object: role, Fields: policy.NamespacedRoleFields(role),
		})
	}
	for _, binding := range defaults.RoleBindings {
		o.objects = append(o.objects, bootstrap.Object{
			Definition: bindings, Object: binding, Fields: policy.BindingFields(binding, binding.Subjects),
		})
	}
}

// likeDiscovery returns a function that gives a new binding of policy.PublicInfoViewer the subjects, labels and
// annotations of the binding of policy.Discovery, if that exists: an administrator may have changed it.
func (o *systemObjects) likeDiscovery(
	d *resource.Definition,
) func(ctx context.Context, object *bootstrap.Object) error {
	return func(ctx context.Context, object *bootstrap.Object) error {
		entry, _, err := o.store.ResourceAt(d.StorageFolder()).Get(ctx, policy.Discovery, dynamicstorage.ReadAt{})
		if errors.Is(err, dynamicstorage.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", policy.Discovery, err)
		}
		found, err := o.builtins.Codec(d).Object(entry)
		if err != nil {
			return err
		}
		discovery, binding := found.(*rbacv1.ClusterRoleBinding), object.Object.(*rbacv1.ClusterRoleBinding)
		binding.Subjects, binding.Labels = discovery.Subjects, discovery.Labels
		binding.Annotations = discovery.Annotations
		object.Fields = policy.BindingFields(binding, binding.Subjects)
		return nil
	}
}

// inOrder returns a function that calls others until one of them fails.
func inOrder(steps ...func(ctx context.Context) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		for _, step := range steps {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// addAccounts adds the account and the root certificates of each system namespace, and the time since when the use of
// tokens in Secrets is recorded. trust is the file of the certificates.
func (o *systemObjects) addAccounts(resources *ResourceOptions, trust string) error {
	accounts := o.builtins.Find(schema.GroupResource{Resource: "serviceaccounts"})
	maps := o.builtins.Find(schema.GroupResource{Resource: "configmaps"})
	if accounts == nil || maps == nil {
		return nil
	}
	o.objects = append(o.objects, bootstrap.Object{
		Definition: maps, Object: serviceaccounts.Tracking(time.Now()), Fields: serviceaccounts.TrackingFields,
	})
	certificates, err := os.ReadFile(trust)
	if err != nil {
		return fmt.Errorf("certificate %s is unreadable: %w", trust, datadir.Cause(err))
	}
	for _, namespace := range namespaces.System() {
		if resources.runsController(accountController) {
			o.objects = append(o.objects, bootstrap.Object{
				Definition: accounts, Object: serviceaccounts.Account(namespace.Name),
			})
		}
		if resources.runsController(rootController) {
			o.objects = append(o.objects, bootstrap.Object{
				Definition: maps, Object: serviceaccounts.RootMap(namespace.Name, certificates), Fields: serviceaccounts.MapFields,
			})
		}
	}
	return nil
}

// bootstrapRetry is the delay between attempts to create system objects.
const bootstrapRetry = time.Second

// create creates the objects that do not exist. It tries until it succeeds or ctx is done.
func (o *systemObjects) create(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, bootstrapRetry, true, func(ctx context.Context) (bool, error) {
		err := bootstrap.Create(ctx, o.store, o.builtins, o.objects)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "System objects are missing, will retry")
		}
		return err == nil, nil
	})
	if err == nil {
		close(o.exist)
	}
	return err
}
