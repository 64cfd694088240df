package main

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"

	"github.com/crd-server/crd-server/test/programs"
)

// kubebuilderVersion is the release whose scaffold is tested.
const kubebuilderVersion = "v4.15.0"

// admitted is a spec that is added to the suite of webhooks, which has none.
//
//go:embed admitted_test.go.txt
var admitted []byte

// scaffold builds kubebuilder's command and makes a project with it as its book does: an API with a controller, and
// webhooks that default and validate. The tests are those that kubebuilder generates. The project's make targets
// install controller-gen as a Go module and generate the CRD and the webhook configurations, which the tests install.
func scaffold(ctx context.Context, build string) (string, error) {
	source := filepath.Join(build, "kubebuilder-source")
	cli := module{path: "sigs.k8s.io/kubebuilder/v4", version: kubebuilderVersion}
	if err := copyModules(ctx, source, cli); err != nil {
		return "", err
	}
	command := filepath.Join(build, "bin", "kubebuilder")
	if _, err := programs.Output(ctx, source, "go", "build", "-o", command, "."); err != nil {
		return "", err
	}
	project := filepath.Join(build, "kubebuilder")
	if err := os.RemoveAll(project); err != nil {
		return "", err
	}
	if err := os.MkdirAll(project, 0o755); err != nil {
		return "", err
	}
	resource := []string{"--group", "webapp", "--version", "v1", "--kind", "Guestbook"}
	for _, args := range [][]string{
		{"init", "--domain", "example.com", "--repo", "example.com/guestbook"},
		append([]string{"create", "api", "--resource", "--controller"}, resource...),
		append([]string{"create", "webhook", "--defaulting", "--programmatic-validation"}, resource...),
	} {
		if _, err := programs.Output(ctx, project, command, args...); err != nil {
			return "", err
		}
	}
	if _, err := programs.Output(ctx, project, "make", "manifests", "generate"); err != nil {
		return "", err
	}
	return project, os.WriteFile(filepath.Join(project, "internal", "webhook", "v1", "admitted_test.go"), admitted, 0o644)
}
