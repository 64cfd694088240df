package server

import (
	"context"
	"net"
	"time"

	"golang.org/x/sync/errgroup"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// The values of --endpoint-reconciler-type, which are those of kube-apiserver.
const (
	reconcilerLease = "lease"
	reconcilerNone  = "none"
)

var reconcilers = []string{"master-count", reconcilerLease, reconcilerNone}

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

// portOf returns the port of a listener; that of the options if it has none.
func portOf(listener net.Listener, o *ServingOptions) int {
	if address, ok := listener.Addr().(*net.TCPAddr); ok {
		return address.Port
	}
	return o.SecurePort
}

// withdrawTimeout bounds the last requests of the endpoints. A server that is killed is forgotten with its lease.
const withdrawTimeout = 2 * time.Second

// announce keeps the Service of the server and its endpoints. stop removes this server from them.
func (s *server) announce(group *errgroup.Group, working context.Context) (stop func()) {
	endpoints := s.resources.Endpoints
	end := inBackground(group, working, func(ctx context.Context) error { endpoints.Run(ctx); return nil })
	return func() {
		end()
		ctx, cancel := context.WithTimeout(working, withdrawTimeout)
		defer cancel()
		endpoints.Withdraw(ctx)
	}
}
