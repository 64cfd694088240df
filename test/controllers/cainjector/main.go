// Command cainjector runs the controllers that write authorities into cert-manager's webhook configurations.
package main

import (
	"context"
	"os"

	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util"
)

func main() {
	logs.InitLogs()
	kubeconfig := pflag.String("kubeconfig", "", "how to reach the server, and as whom")
	namespace := pflag.String("leader-election-namespace", "kube-system", "the namespace of the Lease")
	metrics := pflag.String("metrics-listen-address", "0.0.0.0:9402", "the address of metrics; 0 for none")
	pflag.Parse()
	ctrl.SetLogger(logs.Log)
	if err := run(ctrl.SetupSignalHandler(), *kubeconfig, *namespace, *metrics); err != nil {
		klog.ErrorS(err, "The injector has failed")
		os.Exit(1)
	}
}

// run runs the controllers until ctx is done.
func run(ctx context.Context, kubeconfig, namespace, metrics string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, certmanagerv1.AddToScheme, admissionregistrationv1.AddToScheme,
	} {
		if err := add(types); err != nil {
			return err
		}
	}
	manager, err := ctrl.NewManager(util.RestConfigWithUserAgent(config, "cainjector"), ctrl.Options{
		Scheme:                        types,
		LeaderElection:                true,
		LeaderElectionID:              "cert-manager-cainjector-leader-election",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       server.Options{BindAddress: metrics},
		// Secrets are read one by one, and only their metadata is watched.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	if err != nil {
		return err
	}
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   true,
			cainjector.ValidatingWebhookConfigurationName: true,
		},
	})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}
