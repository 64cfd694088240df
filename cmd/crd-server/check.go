package main

import (
	"errors"
	"log/slog"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/check"
	"github.com/crd-server/crd-server/internal/server/etcd"
)

// newCheckCommand returns the command that checks manifests without a running server.
func newCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check PATH...", Short: "Check that CRDs are valid and that samples apply",
		Long: `Check that CRDs are valid and that samples apply.

The command starts a server of its own, applies the CRDs in the files and directories, and tries to create and apply all
other objects. It prints what the server refuses, a line for each mistake, and fails if there is any. Objects do not
depend on one another: the namespaces that they are in are created. Conversion webhooks, admission webhooks and policies
are not called.`,
		Example: "  crd-server check config/crd/bases config/samples",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("crd-server check takes files and directories: crd-server check PATH [PATH...]")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // the check itself reports what goes wrong
			etcd.UseSmallLogs()
			return check.Run(cmd.Context(), args, cmd.OutOrStdout())
		},
	}
}
