package check

import (
	"cmp"
	"context"

	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/crdserver"
)

// flags are those of the server.
var flags = []string{
	// These plugins call webhooks, which do not run, or depend on policies and PriorityClasses, which are manifests to be
	// checked themselves.
	"--disable-admission-plugins=MutatingAdmissionPolicy,MutatingAdmissionWebhook,Priority,ValidatingAdmissionPolicy," +
		"ValidatingAdmissionWebhook",
	// Services can have addresses of both families, and one of 10.0.0.0/8 that they name, which many clusters take theirs
	// from.
	"--service-cluster-ip-range=10.0.0.0/8,fd00::/64",
}

// start starts a server in memory. The caller must stop it, which returns the server's error.
func start(ctx context.Context) (config *rest.Config, stop func() error, err error) {
	s := crdserver.New(crdserver.Options{BuiltinResources: crdserver.All, Flags: flags})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }() // until stop
	select {
	case <-s.Ready():
		return s.Config(), func() error { cancel(); return <-ended }, nil
	case err := <-ended:
		cancel()
		return nil, nil, cmp.Or(err, context.Cause(ctx))
	}
}
