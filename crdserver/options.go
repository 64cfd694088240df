package crdserver

import (
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Tier selects the built-in resources of a server. docs/builtin.md lists them.
type Tier string

// The tiers. The zero value is Essential.
const (
	// None is no built-in resources but CustomResourceDefinitions. There are no namespaces, so each exists.
	None Tier = "none"
	// Essential is what controllers need beside custom resources: namespaces, Secrets, ConfigMaps, service accounts,
	// Events, Leases, roles, webhooks, policies and quotas.
	Essential Tier = "essential"
	// All is every kind of k8s.io/api. Nothing runs Pods.
	All Tier = "all"
)

// Options configures a server. The zero value of each field is a good default.
type Options struct {
	// CRDs and CRDPaths are applied before the server is ready. CRDPaths are files, and directories whose files are read
	// (.yaml, .yml and .json, not those of directories below). A file may have several documents. The server does not
	// change CRDs.
	CRDs     []*apiextensionsv1.CustomResourceDefinition
	CRDPaths []string

	// BuiltinResources selects the resources besides custom ones. Zero: Essential.
	BuiltinResources Tier

	// DataDir is the directory of the certificates, of the file admin.kubeconfig and of the database. It is created if it
	// is missing. Empty: everything is in memory and is gone when Run returns; the certificates are in a temporary
	// directory meanwhile.
	DataDir string

	// EtcdServers are the endpoints of an etcd cluster (http://host:port) in place of the database in DataDir, which must
	// be given for the certificates. The flags --etcd-cafile, --etcd-certfile and --etcd-keyfile configure TLS.
	EtcdServers []string

	// Listener accepts the connections, to which the server speaks TLS. Run closes it. It may be one of TCP, of a Unix
	// socket, or in memory, as that of google.golang.org/grpc/test/bufconn. Nil: a free TCP port of 127.0.0.1.
	Listener net.Listener

	// Authenticator finds the user of requests that the server does not recognize by itself. The server asks it last,
	// after client certificates and tokens. Users are added to the group system:authenticated. Nil: no further users.
	Authenticator authenticator.Request

	// Authorizer decides what users may do. If it has no opinion, roles and bindings decide. The server does not ask it
	// about the group system:masters, to which Config belongs. Nil: roles and bindings decide.
	Authorizer authorizer.Authorizer

	// Admission are plugins that admit objects, in this order, before webhooks and policies do. A plugin implements
	// admission.MutationInterface, admission.ValidationInterface or both. Objects of built-in resources have the types of
	// k8s.io/api; others are unstructured. Plugins see the requests that the server makes to itself too, whose user is
	// system:apiserver. They are not initialized.
	Admission []admission.Interface

	// Handlers serve further paths, by their prefix: "/hooks" is for /hooks and everything below. The prefixes must not be
	// paths of the server. The filters come first, as for all paths: a user needs the right to the path
	// (nonResourceURLs), and a request has a deadline of a minute (--request-timeout). request.UserFrom of
	// k8s.io/apiserver/pkg/endpoints/request returns the user of a request's context.
	Handlers map[string]http.Handler

	// Logger gets what the server logs, as far as Kubernetes' libraries take a logger. Zero: the logger of klog.
	Logger logr.Logger

	// ShutdownTimeout bounds how long Run waits for requests in flight after its context is done. Watches end at once.
	// Zero: a minute (--request-timeout).
	ShutdownTimeout time.Duration

	// Flags are further flags of the command crd-server, such as --event-ttl=5m. Flags that have a field, or that concern
	// the process (logging, feature gates), are refused.
	Flags []string
}
