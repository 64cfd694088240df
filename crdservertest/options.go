package crdservertest

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crd-server/crd-server/crdserver"
)

// Option configures a server for a test.
type Option func(*settings)

// settings are what the options say.
type settings struct {
	server crdserver.Options
	// changes are those of WithOptions, which come after all others.
	changes []func(*crdserver.Options)
	// child says to run binary, or the program of that name in PATH if it is empty.
	child  bool
	binary string
	// verbosity is the level of the log that is written at once; negative: none.
	verbosity int
}

// WithCRDs applies CustomResourceDefinitions before Start returns. It does not change them.
func WithCRDs(crds ...*apiextensionsv1.CustomResourceDefinition) Option {
	return func(s *settings) { s.server.CRDs = append(s.server.CRDs, crds...) }
}

// WithCRDPaths applies the CustomResourceDefinitions of files, or of the files in directories (.yaml, .yml and .json),
// before Start returns. Paths are relative to the directory of the test, as all are in tests.
func WithCRDPaths(paths ...string) Option {
	return func(s *settings) { s.server.CRDPaths = append(s.server.CRDPaths, paths...) }
}

// WithBuiltinResources selects the resources besides custom ones.
func WithBuiltinResources(tier crdserver.Tier) Option {
	return func(s *settings) { s.server.BuiltinResources = tier }
}

// WithFlags adds flags of the command crd-server, such as --disable-admission-plugins=NamespaceLifecycle.
func WithFlags(flags ...string) Option {
	return func(s *settings) { s.server.Flags = append(s.server.Flags, flags...) }
}

// WithOptions changes what the other options have set, for example to add an authorizer or a listener. It is not for
// servers of WithBinary.
func WithOptions(change func(*crdserver.Options)) Option {
	return func(s *settings) { s.changes = append(s.changes, change) }
}

// WithBinary runs a program crd-server instead of a server in this process; "" is the one in PATH. If the test is
// killed before it ends, the program keeps running.
func WithBinary(path string) Option {
	return func(s *settings) { s.child, s.binary = true, path }
}

// WithLog writes the server's log to the log of the test at once, also if the test passes. The verbosity is that of the
// flag --v: 0 is only what matters to users, 4 is for debugging.
func WithLog(verbosity int) Option {
	return func(s *settings) { s.verbosity = verbosity }
}
