package helm

import (
	"errors"
	"fmt"
	"log/slog"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/kube"
	releases "helm.sh/helm/v4/pkg/release"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// helm4 applies on the server, and watches.
type helm4 struct {
	*action.Configuration
	chart chart.Charter
}

func newHelm4(flags *genericclioptions.ConfigFlags) (installer, error) {
	loaded, err := loader.Load(chartFolder)
	if err != nil {
		return nil, err
	}
	configuration := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := configuration.Init(flags, namespace, "secret"); err != nil {
		return nil, err
	}
	return helm4{configuration, loaded}, nil
}

func (h helm4) install(values map[string]any) error {
	run := action.NewInstall(h.Configuration)
	run.ReleaseName, run.Namespace, run.CreateNamespace = release, namespace, true
	run.WaitStrategy, run.Timeout = kube.StatusWatcherStrategy, patience
	_, err := run.Run(h.chart, values)
	return err
}

func (h helm4) upgrade(values map[string]any) error {
	run := action.NewUpgrade(h.Configuration)
	run.Namespace, run.RollbackOnFailure = namespace, true
	run.WaitStrategy, run.Timeout = kube.StatusWatcherStrategy, patience
	_, err := run.Run(release, h.chart, values)
	return err
}

func (h helm4) rollback(revision int) error {
	run := action.NewRollback(h.Configuration)
	run.Version, run.WaitStrategy, run.Timeout = revision, kube.StatusWatcherStrategy, patience
	return run.Run(release)
}

func (h helm4) uninstall() error {
	run := action.NewUninstall(h.Configuration)
	run.WaitStrategy, run.Timeout = kube.StatusWatcherStrategy, patience
	_, err := run.Run(release)
	return err
}

func (h helm4) history() ([]string, error) {
	found, err := action.NewHistory(h.Configuration).Run(release)
	errs := []error{err}
	var revisions []string
	for _, one := range found {
		about, err := releases.NewAccessor(one)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		revisions = append(revisions, fmt.Sprintf("%d %s", about.Version(), about.Status()))
	}
	return revisions, errors.Join(errs...)
}
