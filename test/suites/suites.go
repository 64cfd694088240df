package main

import (
	"context"
	"path/filepath"
)

// suite is the tests of one project.
type suite struct {
	name string
	// prepare makes the project's folder below the build folder, and returns it.
	prepare  func(ctx context.Context, build string) (dir string, err error)
	packages []testPackage
}

// testPackage is one package of a suite.
type testPackage struct {
	// folder is relative to that of the project.
	folder string
	// ginkgo says that the package has a Ginkgo suite, whose specs count as tests.
	ginkgo bool
}

var suites = []suite{
	{
		name:    "controller-runtime",
		prepare: copied(module{path: "sigs.k8s.io/controller-runtime", version: "v0.25.2"}),
		packages: []testPackage{
			{folder: "pkg/envtest", ginkgo: true},
			{folder: "pkg/client", ginkgo: true},
			{folder: "pkg/cache", ginkgo: true},
			{folder: "pkg/builder", ginkgo: true},
			{folder: "pkg/webhook", ginkgo: true},
			{folder: "pkg/manager/internal/integration", ginkgo: true},
		},
	},
	{
		name: "cluster-api",
		// The module replaces the one of its API by a folder, which is not in its archive.
		prepare: copied(
			module{path: "sigs.k8s.io/cluster-api", version: "v1.14.2"},
			module{path: "sigs.k8s.io/cluster-api/api", version: "v1.14.2", folder: "api"},
		),
		packages: []testPackage{
			{folder: "controllers/crdmigrator"},
			{folder: "internal/util/ssa"},
			{folder: "internal/util/ssa/test"},
			{folder: "util/patch"},
			{folder: "util/patch/test"},
		},
	},
	{
		name:     "kro",
		prepare:  copied(module{path: "github.com/kubernetes-sigs/kro", version: "v0.9.4"}),
		packages: []testPackage{{folder: "test/integration/suites/core", ginkgo: true}},
	},
	{
		name:    "kubebuilder",
		prepare: scaffold,
		packages: []testPackage{
			{folder: "internal/controller", ginkgo: true},
			{folder: "internal/webhook/v1", ginkgo: true},
		},
	},
}

// copied prepares a project by copying its modules from the module cache.
func copied(modules ...module) func(ctx context.Context, build string) (string, error) {
	return func(ctx context.Context, build string) (string, error) {
		dir := filepath.Join(build, filepath.Base(modules[0].path))
		return dir, copyModules(ctx, dir, modules...)
	}
}

// qualified is the name of a package in tables and for the flag -suite, such as "kro/test/integration/suites/core".
func (s suite) qualified(p testPackage) string { return s.name + "/" + p.folder }
