package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// environmentPrefix is the beginning of the environment variables that set flags.
const environmentPrefix = "CRD_SERVER_"

// variable returns the name of the environment variable of a flag.
func variable(flag string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setFromEnvironment sets the flags that are not on the command line and have a variable that is not empty. It warns of
// variables that look like a misspelt flag.
func setFromEnvironment(flags *pflag.FlagSet, warnings io.Writer) error {
	known := map[string]bool{}
	var errs []error
	flags.VisitAll(func(flag *pflag.Flag) {
		name := variable(flag.Name)
		known[name] = true
		value := os.Getenv(name)
		if value == "" || flag.Changed || flag.Name == "help" || flag.Name == "version" {
			return
		}
		if err := flags.Set(flag.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("invalid value %q of %s: %w", value, name, errors.Unwrap(err)))
		}
	})
	for _, entry := range slices.Sorted(slices.Values(os.Environ())) {
		name, _, _ := strings.Cut(entry, "=")
		flag, ours := strings.CutPrefix(name, environmentPrefix)
		if !ours || known[name] {
			continue
		}
		similar := similarFlags(flags, strings.ToLower(strings.ReplaceAll(flag, "_", "-")))
		for i, flag := range similar {
			similar[i] = variable(flag)
		}
		if len(similar) > 0 {
			fmt.Fprintf(warnings, "crd-server: %s is ignored%s\n", name, didYouMean(similar))
		}
	}
	return errors.Join(errs...)
}
