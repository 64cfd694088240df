package builtins

import (
	"context"
	"net"
	"strconv"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/crd-server/crd-server/internal/clustertrust"
	"github.com/crd-server/crd-server/internal/controllers/collector"
	"github.com/crd-server/crd-server/internal/controllers/namespaces"
	"github.com/crd-server/crd-server/internal/controllers/policystatus"
	"github.com/crd-server/crd-server/internal/controllers/roleaggregation"
	"github.com/crd-server/crd-server/internal/controllers/serviceaccounts"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/identity"
	"github.com/crd-server/crd-server/internal/serverendpoints"
)

// The names of the controllers that can be selected, as kube-controller-manager knows them.
const (
	GarbageCollector    = "garbage-collector-controller"
	NamespaceController = "namespace-controller"
	QuotaController     = "resourcequota-controller"
	RootController      = "root-ca-certificate-publisher-controller"
	AccountController   = "serviceaccount-controller"
	RoleController      = "clusterrole-aggregation-controller"
	PolicyController    = "validatingadmissionpolicy-status-controller"
)

// Run runs a controller until its context is done, and returns when all its goroutines have ended.
type Run = func(ctx context.Context)

// Controllers act on built-in resources. They change nothing before they run.
type Controllers struct {
	// Prepare writes the objects that every server has.
	Prepare func(ctx context.Context) error
	// Everywhere run on every replica, and Leading on the one that leads.
	Everywhere, Leading []Run
	// Endpoints keeps the Service of the servers and its endpoints; nil without Services.
	Endpoints *serverendpoints.Controller
	// Identity keeps the Lease of this server; nil if it has none.
	Identity func(ctx context.Context) error
}

// NewControllers returns the controllers of the resources that are served, as far as they are selected.
func NewControllers(c *Config, writes *Writes, objects *SystemObjects) (*Controllers, error) {
	identify, err := newIdentity(c)
	return &Controllers{
		Prepare: objects.Create, Everywhere: newEverywhere(c, writes, objects), Leading: newLeading(c, writes),
		Endpoints: newEndpoints(c), Identity: identify,
	}, err
}

// newEverywhere returns the controllers that every replica runs.
func newEverywhere(c *Config, writes *Writes, objects *SystemObjects) (all []Run) {
	if writes.addresses != nil {
		all = append(all, writes.addresses.Run)
	}
	if len(c.Set.Definitions) > 0 {
		all = append(all, objects.apiServices.Run)
	}
	if roles := c.Roles; roles != nil {
		all = append(all, func(ctx context.Context) { roles.Run(ctx, c.Store) })
	}
	if c.Set.Find(configMaps) == nil {
		return all
	}
	return append(all, clustertrust.New(clustertrust.Config{
		Store: c.Store, Set: c.Set, Client: c.Client, Info: c.Trust.Published,
	}).Run)
}

// newLeading returns the controllers that only one replica runs.
func newLeading(c *Config, writes *Writes) (all []Run) {
	if writes.usage != nil && c.Runs(QuotaController) {
		all = append(all, writes.usage.Run)
	}
	for _, construct := range []func(c *Config) Run{
		newNamespaces, newAggregation, newAccounts, newCollector, newPolicyStatus,
	} {
		if run := construct(c); run != nil {
			all = append(all, run)
		}
	}
	return all
}

func newNamespaces(c *Config) Run {
	d := c.Set.Find(namespacesResource)
	if d == nil || !c.Runs(NamespaceController) {
		return nil
	}
	return namespaces.NewController(namespaces.Config{
		Namespaces: c.Store.ResourceAt(d.StorageFolder()),
		Client:     c.Client,
		Resources: func() []namespaces.Resource {
			return namespaces.Resources(c.Store, c.Table, c.Set.Definitions)
		},
	}).Run
}

func newAggregation(c *Config) Run {
	roles := c.Set.Find(clusterRoles)
	if roles == nil || !c.Runs(RoleController) {
		return nil
	}
	return roleaggregation.New(roleaggregation.Config{
		Store: c.Store, Set: c.Set, ClusterRoles: roles, Client: c.Client,
	}).Run
}

// newAccounts returns the controller of the accounts and root certificates of namespaces.
func newAccounts(c *Config) Run {
	accounts, roots := c.Runs(AccountController), c.Runs(RootController)
	if c.Issuer == nil || !accounts && !roots {
		return nil
	}
	return serviceaccounts.NewController(serviceaccounts.Config{
		Store: c.Store, Set: c.Set, Client: c.Client, TrustFile: c.Trust.File, Fixed: c.Trust.Fixed,
		Accounts: accounts, Roots: roots,
	}).Run
}

func newCollector(c *Config) Run {
	if !c.GarbageCollection || !c.Runs(GarbageCollector) || len(c.Set.Definitions) == 0 {
		return nil
	}
	controller := collector.New(collector.Config{
		Store: c.Store, Kinds: collector.NewKinds(c.Table, c.Set.Definitions), Client: c.Client,
	})
	c.Table.OnChange(func(old, record *crds.Record) {
		if record != nil && record.Established && (old == nil || !old.Established || old.SpecHash != record.SpecHash) {
			controller.KindsChanged()
		}
	})
	return controller.Run
}

func newPolicyStatus(c *Config) Run {
	d := c.Set.Find(admissionregistrationv1.Resource("validatingadmissionpolicies"))
	if d == nil || !c.Runs(PolicyController) {
		return nil
	}
	return policystatus.New(c.Store.ResourceAt(d.StorageFolder()), c.Client).Run
}

// newEndpoints returns the controller of the Service default/kubernetes and its endpoints; nil without Services.
func newEndpoints(c *Config) *serverendpoints.Controller {
	if c.Set.Find(corev1.Resource("services")) == nil {
		return nil
	}
	config := serverendpoints.Config{
		Store: c.Store, Client: c.Client,
		Service: newClusterService(&c.Services), Port: c.Services.Port, Leases: c.Services.Leases,
	}
	serves := c.Set.Find(corev1.Resource("endpoints")) != nil &&
		c.Set.Find(discoveryv1.Resource("endpointslices")) != nil
	if ip := c.Services.Address(); serves && ip != nil && c.Services.Endpoints {
		config.Address = ip.String()
	}
	return serverendpoints.New(config)
}

// newIdentity returns a function that keeps the Lease of a server that acts as kube-apiserver; nil for others.
func newIdentity(c *Config) (func(ctx context.Context) error, error) {
	if !c.Identifies || c.Set.Find(coordinationv1.Resource("leases")) == nil {
		return nil, nil
	}
	address := ""
	if ip := c.Services.Address(); ip != nil {
		address = net.JoinHostPort(ip.String(), strconv.Itoa(c.Services.Port))
	}
	controller, err := identity.New(c.Client, address)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { controller.Run(ctx); return nil }, nil
}
