package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/crd-server/crd-server/internal/server"
	"github.com/crd-server/crd-server/internal/server/credentials"
)

// defaultExpiry is how long certificates and tokens are valid unless --expires says otherwise.
const defaultExpiry = 30 * 24 * time.Hour

// newUserCommand returns the command that gives people and programs access to a running server.
func newUserCommand() *cobra.Command {
	var dataDir string
	command := &cobra.Command{
		Use: "user", Short: "Add, list and remove users of a running server",
		Long: `Add, list and remove users of a running server.

The commands work where the server runs: they read the admin kubeconfig and the certificate authority in its data
directory. A new user may read discovery, and ask what it may do. Give it rights with
"kubectl create rolebinding" or "kubectl create clusterrolebinding".`,
		Args: refuseUserArguments, SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	flags := command.PersistentFlags()
	flags.StringVar(&dataDir, "data-dir", server.NewOptions().DataDir, "The data directory of the server.")
	command.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		// Other variables are for flags of the server, which can have the same names.
		only := pflag.NewFlagSet("", pflag.ContinueOnError)
		only.AddFlag(cmd.Flags().Lookup("data-dir"))
		return setFromEnvironment(only, cmd.ErrOrStderr())
	}
	command.AddCommand(newUserAdd(&dataDir), newUserList(&dataDir), newUserRemove(&dataDir), newUserToken(&dataDir))
	return command
}

func refuseUserArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unexpected argument %q: crd-server user takes one of its commands", args[0])
	return withSuggestions(err, cmd.SuggestionsFor(args[0]))
}

// oneName fails unless there is one argument.
func oneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one name, not %d: %s", cmd.CommandPath(), len(args), cmd.UseLine())
	}
	return nil
}

// kubeconfigFlags are the flags of commands that write a kubeconfig.
type kubeconfigFlags struct {
	file    string
	force   bool
	server  string
	expires time.Duration
}

func (f *kubeconfigFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "kubeconfig", "",
		"The kubeconfig to be written, or - for the standard output. By default NAME.kubeconfig.")
	flags.BoolVar(&f.force, "force", false, "Replaces the kubeconfig if it exists.")
	flags.StringVar(&f.server, "server", "",
		"The URL of the server in the kubeconfig. By default that of the admin kubeconfig.")
	flags.DurationVar(&f.expires, "expires", defaultExpiry, "How long the credential is valid.")
}

// write calls issue, which returns a kubeconfig, and writes it.
func (f *kubeconfigFlags) write(
	cmd *cobra.Command, name string, issue func(context.Context) (content []byte, expires time.Time, err error),
) error {
	if f.file == "" {
		f.file = strings.ReplaceAll(name, "/", "_") + ".kubeconfig"
	}
	file := credentials.File{Path: f.file, Force: f.force}
	if f.file != "-" {
		if err := file.Check(); err != nil {
			return err
		}
	}
	content, expires, err := issue(cmd.Context())
	if err != nil {
		return err
	}
	if f.file == "-" {
		_, err := cmd.OutOrStdout().Write(content)
		return err
	}
	if err := file.Write(content); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s has access until %s: %s\n",
		name, expires.UTC().Format(time.RFC3339), server.KubeconfigCommand(f.file))
	return nil
}

func newUserAdd(dataDir *string) *cobra.Command {
	added, written := &credentials.NewUser{}, &kubeconfigFlags{}
	command := &cobra.Command{
		Use: "add NAME", Short: "Write a kubeconfig with a client certificate for a user", Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			added.Name, added.Lifetime, added.Server = args[0], written.expires, written.server
			for _, group := range added.Groups {
				if group == user.SystemPrivilegedGroup {
					fmt.Fprintf(cmd.ErrOrStderr(),
						"Warning: members of %s may do everything. No role and no webhook limits them.\n", group)
				}
			}
			if err := added.Validate(); err != nil {
				return err
			}
			return written.write(cmd, added.Name, func(ctx context.Context) ([]byte, time.Time, error) {
				manager, err := credentials.Open(*dataDir)
				if err != nil {
					return nil, time.Time{}, err
				}
				return manager.Add(ctx, added)
			})
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&added.Groups, "group", nil, "A group of the user. May be given several times.")
	flags.BoolVar(&added.Renew, "renew", false, "Adds a certificate to a user who has one. The other stays valid.")
	written.add(flags)
	return command
}

func newUserList(dataDir *string) *cobra.Command {
	var format string
	command := &cobra.Command{
		Use: "list", Short: "List users and their certificates", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			manager, err := credentials.Open(*dataDir)
			if err != nil {
				return err
			}
			return manager.Print(cmd.Context(), cmd.OutOrStdout(), format)
		},
	}
	command.Flags().StringVarP(&format, "output", "o", "", "The format: json or yaml. By default a table.")
	return command
}

func newUserRemove(dataDir *string) *cobra.Command {
	var force bool
	command := &cobra.Command{
		Use: "remove NAME", Short: "Refuse the client certificates of a user", Args: oneName,
		Long: `Refuse the client certificates of a user: all that the user has now, on all replicas, from now on.
Watches of the user end. "crd-server user add" gives the user a new certificate.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			manager, err := credentials.Open(*dataDir)
			if err != nil {
				return err
			}
			if err := manager.Remove(cmd.Context(), args[0], force); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is removed\n", args[0])
			return nil
		},
	}
	command.Flags().BoolVar(&force, "force", false, "Also refuses the certificates of a user who was not added.")
	return command
}

func newUserToken(dataDir *string) *cobra.Command {
	program, written := &credentials.Program{}, &kubeconfigFlags{}
	command := &cobra.Command{
		Use: "token NAME", Short: "Write a kubeconfig with a token of a service account", Args: oneName,
		Long: `Write a kubeconfig with a token of a service account, which is created if it is missing.
The token is valid until it expires or the service account is deleted.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			program.Name, program.Lifetime, program.Server = args[0], written.expires, written.server
			return written.write(cmd, program.Name, func(ctx context.Context) ([]byte, time.Time, error) {
				manager, err := credentials.Open(*dataDir)
				if err != nil {
					return nil, time.Time{}, err
				}
				return manager.Token(ctx, program)
			})
		},
	}
	command.Flags().StringVarP(&program.Namespace, "namespace", "n", "default", "The namespace of the service account.")
	written.add(command.Flags())
	return command
}
