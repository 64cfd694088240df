package server

import (
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// Apply puts into force what o says about the whole process: feature gates and logging. It is for the command, to be called
// once and before anything else runs.
func (o *Options) Apply() error {
	if err := o.emulate(); err != nil {
		return fmt.Errorf("--emulated-version: %w", err)
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(o.FeatureGates); err != nil {
		return fmt.Errorf("--feature-gates: %w", err)
	}
	out := io.Writer(os.Stderr)
	if o.Logs.Verbosity == 0 && len(o.Logs.VModule) == 0 {
		out = withoutInfo{out}
	}
	return logsapi.ValidateAndApplyWithOptions(o.Logs.LoggingConfiguration,
		&logsapi.LoggingOptions{ErrorStream: out, InfoStream: out}, nil)
}

// emulate tells the libraries which release's features to show. It has to come before any gate is set.
func (o *Options) emulate() error {
	emulated, err := o.emulatedVersion()
	if emulated == nil || err != nil {
		return err
	}
	effective, ok := compatibility.DefaultComponentGlobalsRegistry.
		EffectiveVersionFor(basecompatibility.DefaultKubeComponent).(basecompatibility.MutableEffectiveVersion)
	if !ok {
		return errors.New("the libraries' version cannot be changed")
	}
	effective.SetEmulationVersion(emulated)
	return utilfeature.DefaultMutableFeatureGate.SetEmulationVersionAndMinCompatibilityVersion(
		effective.EmulationVersion(), effective.MinCompatibilityVersion())
}

// withoutInfo drops informational log entries: without -v a person sees warnings and errors only. The libraries log each
// controller's start at verbosity 0, which would bury the one line that matters.
type withoutInfo struct{ io.Writer }

// Write takes one whole entry, which begins with the letter of its severity.
func (w withoutInfo) Write(entry []byte) (int, error) {
	if len(entry) > 0 && entry[0] == 'I' {
		return len(entry), nil
	}
	return w.Writer.Write(entry)
}
