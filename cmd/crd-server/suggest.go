package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxSuggestions bounds the flags that an error message suggests.
const maxSuggestions = 3

// otherNames are names that other programs have for flags of this one.
var otherNames = map[string][]string{
	"secure-port": {"port", "listen"},
	"v":           {"verbose", "verbosity", "log-level"},
}

// suggestFlag adds similar flags to the error of a flag that does not exist.
func suggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	name := unknown.GetSpecifiedName()
	similar := similarFlags(cmd.Flags(), name)
	for flag, others := range otherNames {
		for _, other := range others {
			if name == other && cmd.Flags().Lookup(flag) != nil {
				similar = append(similar, flag)
			}
		}
	}
	for i, flag := range similar {
		similar[i] = "--" + flag
	}
	return withSuggestions(err, similar)
}

// similarFlags returns flags whose names are similar to name. Cobra compares names of commands, so each flag becomes
// one.
func similarFlags(flags *pflag.FlagSet, name string) []string {
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	flags.VisitAll(func(flag *pflag.Flag) {
		if len(flag.Name) > names.SuggestionsMinimumDistance {
			names.AddCommand(&cobra.Command{Use: flag.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	return names.SuggestionsFor(name)
}

// withSuggestions adds suggestions to the error, if there are any.
func withSuggestions(err error, suggestions []string) error {
	if len(suggestions) == 0 {
		return err
	}
	return fmt.Errorf("%w%s", err, didYouMean(suggestions))
}

func didYouMean(suggestions []string) string {
	return fmt.Sprintf("; did you mean %s?", strings.Join(suggestions[:min(len(suggestions), maxSuggestions)], " or "))
}
