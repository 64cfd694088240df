package builtins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/crd-server/crd-server/internal/bootstrap"
	"github.com/crd-server/crd-server/internal/bootstrap/policy"
	"github.com/crd-server/crd-server/internal/builtin/scheduling"
	"github.com/crd-server/crd-server/internal/controllers/autoregister"
	"github.com/crd-server/crd-server/internal/controllers/namespaces"
	"github.com/crd-server/crd-server/internal/controllers/serviceaccounts"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/server/datadir"
)

var (
	clusterRoles        = rbacv1.Resource("clusterroles")
	clusterRoleBindings = rbacv1.Resource("clusterrolebindings")
	configMaps          = corev1.Resource("configmaps")
	namespacesResource  = corev1.Resource("namespaces")
	priorityClasses     = schedulingv1.Resource("priorityclasses")
)

// SystemObjects are the objects that every server has.
type SystemObjects struct {
	*Config
	objects []bootstrap.Object
	// exist is closed when all of them have been created.
	exist chan struct{}
	// apiServices keeps the APIServices.
	apiServices *autoregister.Controller
	// roles reconciles the default roles and bindings; nil if they are not served.
	roles *policy.Reconciler
}

// NewSystemObjects returns the objects of all resources that are served.
func NewSystemObjects(c *Config) (*SystemObjects, error) {
	exist := make(chan struct{})
	o := &SystemObjects{Config: c, exist: exist, apiServices: newAPIServices(c, exist), roles: newRoleReconciler(c)}
	for _, namespace := range namespaces.System() {
		o.add(namespacesResource, bootstrap.Object{Object: namespace, Fields: namespaces.SystemFields})
	}
	for _, service := range o.apiServices.Initial() {
		o.add(apiregistrationv1.Resource("apiservices"), bootstrap.Object{Object: service})
	}
	o.addRoles()
	o.addClusterService()
	for _, class := range scheduling.System() {
		o.add(priorityClasses, bootstrap.Object{Object: class, Fields: scheduling.SystemFields})
	}
	if err := o.addTrust(); err != nil {
		return nil, err
	}
	return o, o.addAccounts()
}

// newAPIServices returns the controller that keeps an APIService for each group and version that is served. It waits
// until ready is closed: all CRDs are known, and the system objects exist.
func newAPIServices(c *Config, ready <-chan struct{}) *autoregister.Controller {
	versions := []schema.GroupVersion{
		apiextensionsv1.SchemeGroupVersion, authenticationv1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion,
	}
	for _, d := range c.Set.Definitions {
		versions = append(versions, d.GroupVersion)
	}
	controller := autoregister.NewController(autoregister.Config{
		Store: c.Store, Set: c.Set, BuiltIn: versions, Served: c.Table.ServedVersions, Serves: c.Table.ServesVersion,
		Ready: ready,
	})
	c.Table.OnVersionsChange(controller.Changed)
	return controller
}

// newRoleReconciler returns what reconciles the default roles and bindings; nil if they are not served.
func newRoleReconciler(c *Config) *policy.Reconciler {
	if c.Set.Find(clusterRoles) == nil || c.Set.Find(rbacv1.Resource("clusterrolebindings")) == nil {
		return nil
	}
	return &policy.Reconciler{Store: c.Store, Set: c.Set, Client: c.Client, Cluster: c.Cluster}
}

// add adds objects of a resource, if it is served.
func (o *SystemObjects) add(of schema.GroupResource, objects ...bootstrap.Object) {
	definition := o.Set.Find(of)
	if definition == nil {
		return
	}
	for _, object := range objects {
		object.Definition = definition
		o.objects = append(o.objects, object)
	}
}

// addRoles adds the default roles and bindings, if they are served.
func (o *SystemObjects) addRoles() {
	if o.roles == nil {
		return
	}
	for _, obj := range policy.Aggregate(policy.Default(o.Cluster)) {
		object := bootstrap.Object{Object: obj, Fields: policy.Fields(obj)}
		kind := obj.GetObjectKind().GroupVersionKind().Kind
		if kind == "ClusterRoleBinding" && obj.GetName() == policy.PublicInfoViewer {
			object.Complete = o.likeDiscovery
		}
		o.add(rbacv1.Resource(strings.ToLower(kind)+"s"), object)
	}
}

// likeDiscovery gives a new binding of policy.PublicInfoViewer the subjects, labels and annotations of the binding of
// policy.Discovery, if that exists: an administrator may have changed it.
func (o *SystemObjects) likeDiscovery(ctx context.Context, object *bootstrap.Object) error {
	discovery, err := newReader[*rbacv1.ClusterRoleBinding](o.Config, clusterRoleBindings).get(ctx, policy.Discovery)
	if errors.Is(err, dynamicstorage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", policy.Discovery, err)
	}
	binding := object.Object.(*rbacv1.ClusterRoleBinding)
	binding.Subjects, binding.Labels = discovery.Subjects, discovery.Labels
	binding.Annotations = discovery.Annotations
	object.Fields = policy.Fields(binding)
	return nil
}

// addTrust adds the ConfigMap with the authorities of clients.
func (o *SystemObjects) addTrust() error {
	published, fields, err := o.Trust.Published.ConfigMap()
	if published != nil && err == nil {
		o.add(configMaps, bootstrap.Object{Object: published, Fields: fields})
	}
	return err
}

// addAccounts adds the account and the root certificates of each system namespace, and the time since when the use of
// tokens in Secrets is recorded.
func (o *SystemObjects) addAccounts() error {
	accounts := corev1.Resource("serviceaccounts")
	if o.Set.Find(accounts) == nil || o.Set.Find(configMaps) == nil {
		return nil
	}
	o.add(configMaps, bootstrap.Object{
		Object: serviceaccounts.Tracking(time.Now()), Fields: serviceaccounts.TrackingFields,
	})
	certificates, err := os.ReadFile(o.Trust.File)
	if err != nil {
		return fmt.Errorf("certificate %s is unreadable: %w", o.Trust.File, datadir.Cause(err))
	}
	for _, namespace := range namespaces.System() {
		if o.Runs(AccountController) {
			o.add(accounts, bootstrap.Object{Object: serviceaccounts.Account(namespace.Name)})
		}
		if o.Runs(RootController) {
			o.add(configMaps, bootstrap.Object{
				Object: serviceaccounts.RootMap(namespace.Name, certificates), Fields: serviceaccounts.MapFields,
			})
		}
	}
	return nil
}

// bootstrapRetry is the delay between attempts to create system objects.
const bootstrapRetry = time.Second

// Create creates the objects that do not exist, which it tries until it succeeds or ctx is done. Then it reconciles the
// default roles and bindings. A failure of that does not keep the server from being ready, because admission may refuse
// one of them.
func (o *SystemObjects) Create(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, bootstrapRetry, true, func(ctx context.Context) (bool, error) {
		err := bootstrap.Create(ctx, o.Store, o.Set, o.objects)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "System objects are missing, will retry")
		}
		return err == nil, nil
	})
	if err != nil {
		return err
	}
	close(o.exist)
	if o.roles == nil {
		return nil
	}
	if err := o.roles.Run(ctx); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Default roles and bindings are incomplete until the next start")
	}
	return ctx.Err()
}
