package helm

import (
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// helm3 merges three ways on the client, and polls.
type helm3 struct {
	*action.Configuration
	chart *chart.Chart
}

func newHelm3(flags *genericclioptions.ConfigFlags) (installer, error) {
	loaded, err := loader.Load(chartFolder)
	if err != nil {
		return nil, err
	}
	configuration := &action.Configuration{}
	if err := configuration.Init(flags, namespace, "secret", func(string, ...any) {}); err != nil {
		return nil, err
	}
	return helm3{configuration, loaded}, nil
}

func (h helm3) install(values map[string]any) error {
	run := action.NewInstall(h.Configuration)
	run.ReleaseName, run.Namespace, run.CreateNamespace = release, namespace, true
	run.Wait, run.Timeout = true, patience
	_, err := run.Run(h.chart, values)
	return err
}

func (h helm3) upgrade(values map[string]any) error {
	run := action.NewUpgrade(h.Configuration)
	run.Namespace, run.Atomic, run.Wait, run.Timeout = namespace, true, true, patience
	_, err := run.Run(release, h.chart, values)
	return err
}

func (h helm3) rollback(revision int) error {
	run := action.NewRollback(h.Configuration)
	run.Version, run.Wait, run.Timeout = revision, true, patience
	return run.Run(release)
}

func (h helm3) uninstall() error {
	run := action.NewUninstall(h.Configuration)
	run.Wait, run.Timeout = true, patience
	_, err := run.Run(release)
	return err
}

func (h helm3) history() ([]string, error) {
	releases, err := action.NewHistory(h.Configuration).Run(release)
	var revisions []string
	for _, one := range releases {
		revisions = append(revisions, fmt.Sprintf("%d %s", one.Version, one.Info.Status))
	}
	return revisions, err
}
