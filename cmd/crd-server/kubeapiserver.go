package main

import (
	"fmt"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/crd-server/crd-server/internal/kubeapiserver"
	"github.com/crd-server/crd-server/internal/server"
)

// kubeAPIServer is the name by which the program acts as kube-apiserver.
const kubeAPIServer = "kube-apiserver"

// newKubeAPIServer returns the command that acts as kube-apiserver. The environment sets no flag of it.
func newKubeAPIServer(o *server.Options) *cobra.Command {
	options := kubeapiserver.NewOptions(o)
	groups := options.Flags()
	about := groups.FlagSet("about")
	about.BoolP("help", "h", false, "Prints this help.")
	version := about.Bool("version", false, "Prints the version.")
	command := &cobra.Command{
		Use:  kubeAPIServer,
		Long: "This is crd-server, which acts as kube-apiserver. See docs/envtest.md.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q: kube-apiserver takes flags only", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if *version {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), server.KubernetesVersionLine())
				return err
			}
			valid, err := options.Complete()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), valid)
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	command.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc)
	for _, name := range groups.Order {
		command.Flags().AddFlagSet(groups.FlagSets[name])
	}
	command.SetFlagErrorFunc(suggestFlag)
	setHelp(command, groups)
	return command
}
