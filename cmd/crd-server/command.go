package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/crd-server/crd-server/internal/server"
)

// description is the beginning of the help and of the man page.
const description = `crd-server serves the Kubernetes API for custom resources, without Kubernetes: apply a
CustomResourceDefinition, and its resources can be used with kubectl and every Kubernetes client. No flag is needed.

An environment variable can stand for a flag: CRD_SERVER_DATA_DIR for --data-dir, and so on. A flag takes precedence.`

// newCommand returns the command. Without a subcommand it serves.
func newCommand(options *server.Options) *cobra.Command {
	groups := options.Flags()
	about := groups.FlagSet("about")
	about.BoolP("help", "h", false, "Prints this help.")
	version := about.Bool("version", false, "Prints the version.")

	command := &cobra.Command{
		Use:   "crd-server",
		Short: "serves Kubernetes custom resources",
		Long:  description,
		Args:  refuseArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if *version {
				return printVersion(cmd, nil)
			}
			if err := setFromEnvironment(cmd.Flags(), cmd.ErrOrStderr()); err != nil {
				return err
			}
			valid, err := options.Validate()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), valid)
		},
		SilenceErrors:              true,
		SilenceUsage:               true,
		DisableAutoGenTag:          true,
		SuggestionsMinimumDistance: 2,
	}
	command.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc)
	for _, name := range groups.Order {
		command.Flags().AddFlagSet(groups.FlagSets[name])
	}
	command.SetFlagErrorFunc(suggestFlag)
	setHelp(command, mostUsedFirst(groups))
	command.AddCommand(
		newCheckCommand(),
		newUserCommand(),
		newEnvtestCommand(),
		&cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, RunE: printVersion},
		&cobra.Command{
			Use: "man", Short: "Print the man page", Args: cobra.NoArgs, RunE: printMan,
			Long: "Print the man page. To read it: crd-server man | man -l -",
		},
	)
	return command
}

// refuseArguments fails if an argument is neither a flag nor a subcommand.
func refuseArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unexpected argument %q: crd-server takes flags only, or one of its commands", args[0])
	return withSuggestions(err, cmd.SuggestionsFor(args[0]))
}

func printVersion(cmd *cobra.Command, _ []string) error {
	_, err := fmt.Fprintln(cmd.OutOrStdout(), server.VersionLine())
	return err
}

// printMan prints the man page of the root command. The page would refer to pages of the subcommands, which do not
// exist, so it is made of a command without any.
func printMan(cmd *cobra.Command, _ []string) error {
	out, root := cmd.OutOrStdout(), newCommand(server.NewOptions())
	root.RemoveCommand(root.Commands()...)
	header := &doc.GenManHeader{Title: "CRD-SERVER", Section: "1", Source: server.VersionLine(), Manual: "User Commands"}
	if err := doc.GenMan(root, header, out); err != nil {
		return fmt.Errorf("make the man page: %w", err)
	}
	return nil
}
