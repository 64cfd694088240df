// Command controller runs the controllers of cert-manager, with the issuers SelfSigned and CA.
package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificate-shim/ingresses"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/metrics"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/logs"
)

// workers is how many objects each controller works on at the same time, as in cert-manager.
const workers = 5

func main() {
	logs.InitLogs()
	options := controller.ContextOptions{
		KubernetesAPIQPS:   20,
		KubernetesAPIBurst: 50,
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: time.Hour,
			CertificateRequestMaximumBackoffDuration: 32 * time.Hour,
		},
		IngressShimOptions: controller.IngressShimOptions{DefaultIssuerKind: "Issuer", DefaultIssuerGroup: "cert-manager.io"},
	}
	pflag.StringVar(&options.Kubeconfig, "kubeconfig", "", "how to reach the server, and as whom")
	pflag.StringVar(&options.ClusterResourceNamespace, "cluster-resource-namespace", "kube-system",
		"the namespace of the Secrets of ClusterIssuers")
	namespace := pflag.String("leader-election-namespace", "kube-system", "the namespace of the Lease")
	pflag.Parse()
	ctx := logs.NewContext(ctrl.SetupSignalHandler(), logs.Log, "controller")
	if err := lead(ctx, options, *namespace); err != nil {
		klog.ErrorS(err, "The controllers have failed")
		os.Exit(1)
	}
}

// lead runs the controllers once it holds the Lease, until the process is told to stop or loses the Lease.
func lead(ctx context.Context, options controller.ContextOptions, namespace string) error {
	factory, err := controller.NewContextFactory(ctx, options)
	if err != nil {
		return err
	}
	election, err := factory.Build("leader-election")
	if err != nil {
		return err
	}
	identity, err := os.Hostname()
	if err != nil {
		return err
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, "cert-manager-controller",
		election.Client.CoreV1(), election.Client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: identity, EventRecorder: election.Recorder})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: time.Minute, RenewDeadline: 40 * time.Second, RetryPeriod: 15 * time.Second,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { stop(run(ctx, factory)) },
			OnStoppedLeading: func() {},
		},
	})
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// run runs all controllers until ctx is done.
func run(ctx context.Context, factory *controller.ContextFactory) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, start := range controller.Known() {
		one, err := start(factory)
		if err != nil {
			return err
		}
		group.Go(func() error { return one.Run(workers, ctx) })
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	return group.Wait()
}
