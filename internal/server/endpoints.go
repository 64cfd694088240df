package server

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	utilnet "k8s.io/apimachinery/pkg/util/net"
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
	announcing, cancel := context.WithCancel(working)
	ended := make(chan struct{})
	group.Go(func() error {
		defer close(ended)
		s.resources.controllers.endpoints.Run(announcing)
		return nil
	})
	return func() {
		cancel()
		<-ended
		ctx, cancel := context.WithTimeout(working, withdrawTimeout)
		defer cancel()
		s.resources.controllers.endpoints.Withdraw(ctx)
	}
}
