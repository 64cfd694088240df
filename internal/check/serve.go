package check

import (
	"context"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crd-server/crd-server/internal/server"
)

// pluginsOff call webhooks, which do not run, or change what objects are valid while policies become known.
var pluginsOff = []string{
	"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook", "MutatingAdmissionPolicy", "ValidatingAdmissionPolicy",
}

// start starts a server. stop stops it.
func start(ctx context.Context) (config *rest.Config, stop func() error, err error) {
	dir, err := os.MkdirTemp("", "crd-server-check-")
	if err != nil {
		return nil, nil, err
	}
	options := server.NewOptions()
	options.DataDir, options.Serving.SecurePort = dir, 0
	options.Admission.Disable = pluginsOff
	options.Resources.Builtin = "essential"
	ready := make(chan struct{})
	options.Out = writerFunc(func(p []byte) (int, error) { close(ready); return len(p), nil })
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, options) }()
	stop = func() error {
		cancel()
		err := <-ended
		_ = os.RemoveAll(dir)
		return err
	}
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		return nil, nil, err
	}
	config, err = clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "admin.kubeconfig"))
	return config, stop, err
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
