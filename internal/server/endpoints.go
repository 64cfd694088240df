package server

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/crd-server/crd-server/internal/server/etcd"
	"github.com/crd-server/crd-server/internal/serverendpoints"
)

// The values of --endpoint-reconciler-type, which are those of kube-apiserver.
const (
	reconcilerLease = "lease"
	reconcilerCount = "master-count"
	reconcilerNone  = "none"
)

func (o *ServingOptions) validateReconciler() error {
	types := []string{reconcilerCount, reconcilerLease, reconcilerNone}
	if !slices.Contains(types, o.EndpointReconciler) {
		return fmt.Errorf("--endpoint-reconciler-type: %q is none of %s", o.EndpointReconciler, strings.Join(types, ", "))
	}
	return nil
}

// advertised returns the address of the server for members of the cluster; nil if no address can be an endpoint.
func (o *ServingOptions) advertised() net.IP {
	address := o.AdvertiseAddress
	if address == nil || address.IsUnspecified() {
		var err error
		if address, err = utilnet.ResolveBindAddress(o.BindAddress); err != nil {
			return nil // there is no network
		}
	}
	if address.IsUnspecified() || address.IsLoopback() || address.IsLinkLocalUnicast() || address.IsMulticast() {
		return nil
	}
	return address
}

// newEndpoints returns the controller of the Service default/kubernetes and its endpoints; nil without Services. The
// port of the options must be that of the listener.
func newEndpoints(o *ValidOptions, storage *etcd.Connection, a *access, s *stored) (*serverendpoints.Controller, error) {
	if s.builtins.Find(corev1.Resource("services")) == nil {
		return nil, nil
	}
	config := serverendpoints.Config{
		Store: s.store, Client: inProcess{a.own}.clientConfig(),
		Service: newClusterService(o), Port: o.Serving.SecurePort,
	}
	serves := s.builtins.Find(corev1.Resource("endpoints")) != nil &&
		s.builtins.Find(discoveryv1.Resource("endpointslices")) != nil
	if ip := o.Serving.advertised(); serves && ip != nil && o.Serving.EndpointReconciler != reconcilerNone {
		config.Address = ip.String()
	}
	if len(o.Etcd.Servers) > 0 {
		config.Leases = &serverendpoints.Leases{Client: storage.Client, Prefix: o.Etcd.Root()}
	}
	return serverendpoints.New(config)
}

// knowPort replaces port 0 of the options, and that of a listener that was passed.
func (s *server) knowPort() {
	if address, ok := s.listener.Addr().(*net.TCPAddr); ok {
		s.options.Serving.SecurePort = address.Port
	}
}

// withdrawTimeout bounds the last requests of the endpoints. A server that is killed is forgotten with its lease.
const withdrawTimeout = 2 * time.Second

// announce keeps the Service of the server and its endpoints. stop removes this server from them.
func (s *server) announce(group *errgroup.Group, working context.Context) (stop func()) {
	announcing, cancel := context.WithCancel(working)
	ended := make(chan struct{})
	group.Go(func() error {
		defer close(ended)
		s.parts.endpoints.Run(announcing)
		return nil
	})
	return func() {
		cancel()
		<-ended
		ctx, cancel := context.WithTimeout(working, withdrawTimeout)
		defer cancel()
		s.parts.endpoints.Withdraw(ctx)
	}
}
