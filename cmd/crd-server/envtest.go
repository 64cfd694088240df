package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/crd-server/crd-server/internal/assets"
	"github.com/crd-server/crd-server/internal/server"
)

// newEnvtestCommand returns the command that makes a folder for KUBEBUILDER_ASSETS.
func newEnvtestCommand() *cobra.Command {
	var dir string
	var copied bool
	command := &cobra.Command{
		Use: "envtest --dir DIR", Short: "Make a folder for KUBEBUILDER_ASSETS, for tests by envtest",
		Long: `Make a folder for KUBEBUILDER_ASSETS, for tests by controller-runtime's envtest.

The folder gets kube-apiserver and etcd, which are links to this program, and kubectl, which is a link to the one in
PATH if there is one. The command prints the line that sets the variable:

  eval "$(crd-server envtest --dir bin/envtest)"
  go test ./...`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return errors.New("crd-server envtest needs --dir: the folder to make, such as bin/envtest")
			}
			return makeAssets(cmd, dir, copied)
		},
	}
	command.Flags().StringVar(&dir, "dir", "", "The `folder` to make. It is created if it is missing.")
	command.Flags().BoolVar(&copied, "copy", false,
		"Copies this program instead of linking to it, so that the folder is complete.")
	return command
}

// makeAssets makes the folder and says what was made. The line for a shell goes to the standard output alone.
func makeAssets(cmd *cobra.Command, dir string, copied bool) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		kubectl = ""
	}
	made, err := assets.Make(assets.Config{Dir: dir, Program: program, Kubectl: kubectl, Copy: copied})
	if err != nil {
		return err
	}
	for _, asset := range made {
		fmt.Fprintf(cmd.ErrOrStderr(), "crd-server: %s\n", asset)
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "export KUBEBUILDER_ASSETS=%s\n", server.ShellQuote(absolute))
	return err
}
