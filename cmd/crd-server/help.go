package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	cliflag "k8s.io/component-base/cli/flag"
)

// maxColumns is the width of the help, unless the terminal is narrower.
const maxColumns = 120

// mostUsed are the flags that the help shows first.
var mostUsed = []string{
	"data-dir", "crds", "bind-address", "secure-port", "tls-san",
	"client-ca-file", "token-auth-file", "authorization-mode", "etcd-servers", "v",
}

// setHelp makes the help of a command show its flags in groups. Subcommands keep cobra's help.
func setHelp(root *cobra.Command, groups *cliflag.NamedFlagSets) {
	help, usage := root.HelpFunc(), root.UsageFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd != root {
			help(cmd, args)
			return
		}
		out := cmd.OutOrStdout()
		fmt.Fprintf(out, "%s\n\n", cmd.Long)
		printUsage(out, cmd, groups)
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		if cmd != root {
			return usage(cmd)
		}
		printUsage(cmd.OutOrStderr(), cmd, groups)
		return nil
	})
}

func printUsage(out io.Writer, root *cobra.Command, groups *cliflag.NamedFlagSets) {
	fmt.Fprintf(out, "Usage:\n  %s\n", root.UseLine())
	if root.HasAvailableSubCommands() {
		fmt.Fprintf(out, "  %s [command]\n\nCommands:\n", root.Name())
	}
	for _, command := range root.Commands() {
		if command.IsAvailableCommand() || command.Name() == "help" {
			fmt.Fprintf(out, "  %-*s %s\n", root.NamePadding(), command.Name(), command.Short)
		}
	}
	var flags strings.Builder
	cliflag.PrintSections(&flags, *groups, columns(out))
	for line := range strings.Lines(flags.String()) { // the library fills lines with spaces
		fmt.Fprintln(out, strings.TrimRight(line, " \n"))
	}
}

// mostUsedFirst returns the groups with the most used flags as a group of their own.
func mostUsedFirst(groups *cliflag.NamedFlagSets) *cliflag.NamedFlagSets {
	sections := &cliflag.NamedFlagSets{NormalizeNameFunc: groups.NormalizeNameFunc}
	first := sections.FlagSet("most used")
	first.SortFlags = false
	for _, name := range mostUsed {
		for _, group := range groups.Order {
			if flag := groups.FlagSets[group].Lookup(name); flag != nil {
				first.AddFlag(flag)
			}
		}
	}
	for _, name := range groups.Order {
		section := sections.FlagSet(name)
		groups.FlagSets[name].VisitAll(func(flag *pflag.Flag) {
			if first.Lookup(flag.Name) == nil {
				section.AddFlag(flag)
			}
		})
	}
	return sections
}

// columns returns the width of the help.
func columns(out io.Writer) int {
	if file, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			return min(width, maxColumns)
		}
	}
	return maxColumns
}
