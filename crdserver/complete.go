package crdserver

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/crd-server/crd-server/internal/server"
)

// complete returns the options of the server.
func (o *Options) complete() (*server.Options, error) {
	c := server.NewOptions()
	c.Serving.SecurePort = 0
	if len(o.Flags) > 0 {
		if err := parse(c, o.Flags); err != nil {
			return nil, fmt.Errorf("crdserver: Flags: %w", err)
		}
	}
	if len(o.EtcdServers) > 0 && o.DataDir == "" {
		return nil, errors.New("crdserver: EtcdServers need a DataDir, for the certificates")
	}
	c.DataDir, c.InMemory, c.Etcd.Servers = o.DataDir, o.DataDir == "", o.EtcdServers
	c.CRDs, c.Definitions = o.CRDPaths, o.CRDs
	c.Resources.Builtin = string(o.BuiltinResources)
	c.Listener = o.Listener
	c.Extensions = server.Extensions{
		Authenticator: o.Authenticator, Authorizer: o.Authorizer, Admission: o.Admission, Handlers: o.Handlers,
	}
	c.Logger = o.Logger
	c.Requests.ShutdownTimeout = o.ShutdownTimeout
	return c, nil
}

// fields are the flags for which Options has a field.
var fields = map[string]string{
	"crds": "CRDPaths", "builtin-resources": "BuiltinResources", "data-dir": "DataDir", "in-memory": "DataDir",
	"etcd-servers": "EtcdServers",
}

// processFlags are the flags that concern the whole process, besides those of logging.
var processFlags = []string{"feature-gates", "emulated-version"}

// parse sets the options of flags.
func parse(c *server.Options, args []string) error {
	groups := c.Flags()
	all := pflag.NewFlagSet("crdserver", pflag.ContinueOnError)
	for _, name := range groups.Order {
		all.AddFlagSet(groups.FlagSets[name])
	}
	all.SetNormalizeFunc(groups.NormalizeNameFunc)
	if err := all.Parse(args); err != nil {
		return err
	}
	if all.NArg() > 0 {
		return fmt.Errorf("%q is not a flag", all.Arg(0))
	}
	var errs []error
	all.Visit(func(flag *pflag.Flag) {
		switch field, has := fields[flag.Name]; {
		case has:
			errs = append(errs, fmt.Errorf("--%s is the field %s", flag.Name, field))
		case slices.Contains(processFlags, flag.Name) || groups.FlagSets["logs"].Lookup(flag.Name) != nil:
			errs = append(errs, fmt.Errorf("--%s concerns the whole process, which the program configures", flag.Name))
		}
	})
	return errors.Join(errs...)
}
