// Package builtins connects the built-in resources with the rest of a server: what their writes ask besides the rules
// of the kinds, the objects that every server has, and the controllers.
//
// Begin at Config. The other constructors follow in this order: NewWrites, for the handler of resources, then
// NewSystemObjects and NewControllers. Each leaves out what is for resources that the server does not have.
package builtins

import (
	"net"
	"net/netip"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/access/admission"
	"github.com/crd-server/crd-server/internal/access/authorization/rbac"
	"github.com/crd-server/crd-server/internal/access/serviceaccounts"
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/clustertrust"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/serverendpoints"
)

// Config has what the built-in resources of a server depend on.
type Config struct {
	Store *dynamicstorage.Store
	// Table has the CRDs that are served.
	Table *crds.Table
	// Set has the built-in resources that are served.
	Set *builtin.Set
	// Cluster says that the server has the kinds of a whole cluster.
	Cluster bool
	// Client is for requests to this server, as a user that may do everything.
	Client *rest.Config

	// Admission selects the plugins.
	Admission *admission.Options
	// Authorizer decides what the user of a write may do besides.
	Authorizer authorizer.Authorizer
	// Roles has the stored roles and bindings; nil without built-in resources.
	Roles *rbac.Index
	// Issuer issues tokens of service accounts; nil without built-in resources.
	Issuer *serviceaccounts.Issuer

	Services Services
	Trust    Trust

	// Runs reports whether a controller was selected.
	Runs func(controller string) bool
	// GarbageCollection says that the server collects garbage.
	GarbageCollection bool
	// Identifies says that the server keeps the Lease of a kube-apiserver.
	Identifies bool
}

// Services says which addresses Services have, among them the Service of the servers.
type Services struct {
	Ranges    []netip.Prefix
	NodePorts utilnet.PortRange
	// Address returns where members of the cluster reach this server, nil if no address can be an endpoint. Port is the
	// port.
	Address func() net.IP
	Port    int
	// Endpoints says that the server is among the endpoints of the Service.
	Endpoints bool
	// Leases has the other servers; nil if there are none.
	Leases *serverendpoints.Leases
}

// Trust is by whom clients recognise the server, and the server its clients.
type Trust struct {
	// File has the authority of the serving certificate. Fixed says that it never changes.
	File  string
	Fixed bool
	// Published is for other servers of the cluster, which have the same clients.
	Published clustertrust.Info
}
