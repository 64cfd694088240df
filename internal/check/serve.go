package check

import (
	"cmp"
	"context"
	"errors"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/server"
)

// disabledPlugins call webhooks, which do not run, or depend on policies and PriorityClasses, which are manifests to be
// checked themselves.
var disabledPlugins = []string{
	"MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "Priority", "ValidatingAdmissionPolicy",
	"ValidatingAdmissionWebhook",
}

// serviceRanges let Services have addresses of both families, and one of 10.0.0.0/8 that they name, which many clusters
// take theirs from.
const serviceRanges = "10.0.0.0/8,fd00::/64"

// start starts a server in memory. The caller must stop it, which returns the server's error.
func start(ctx context.Context) (config *rest.Config, stop func() error, err error) {
	ready := make(chan server.Ready, 1)
	options := server.NewOptions()
	options.DataDir, options.InMemory, options.Serving.SecurePort = "", true, 0
	options.Resources.Builtin = builtin.TierAll
	options.Resources.ServiceClusterIPRange = serviceRanges
	options.Admission.Disable = disabledPlugins
	options.OnReady = func(r server.Ready) { ready <- r }
	valid, err := options.Validate()
	if err != nil {
		return nil, nil, err
	}

	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, valid) }() // until stop
	stop = func() error {
		cancel()
		return <-ended
	}
	select {
	case r := <-ready:
		if config, err = clientcmd.RESTConfigFromKubeConfig(r.Kubeconfig); err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		return config, stop, nil
	case err := <-ended:
		cancel()
		return nil, nil, cmp.Or(err, context.Cause(ctx))
	}
}
