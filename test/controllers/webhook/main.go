// Command webhook serves the webhooks of cert-manager.
package main

import (
	"os"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cert-manager/cert-manager/internal/webhook"
	"github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
)

func main() {
	logs.InitLogs()
	config, err := options.NewWebhookConfiguration()
	if err == nil {
		options.AddConfigFlags(pflag.CommandLine, config)
		pflag.Parse()
		ctx := logs.NewContext(ctrl.SetupSignalHandler(), logs.Log, "webhook")
		server, failed := webhook.NewCertManagerWebhookServer(logs.Log, *config)
		if err = failed; err == nil {
			err = server.Run(ctx)
		}
	}
	if err != nil {
		klog.ErrorS(err, "The webhook has failed")
		os.Exit(1)
	}
}
