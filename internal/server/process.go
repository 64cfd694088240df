package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"go.opentelemetry.io/otel"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	metricsfeatures "k8s.io/component-base/metrics/features"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/crdhandler/documentpatch"
	"github.com/crd-server/crd-server/internal/server/etcd"
)

// gcPercent is how much the heap may grow before a collection, unless GOGC says otherwise. Most of the heap is the
// JSON of objects, which is not scanned: collections are cheap, and Go's default of 100 would only take more memory.
const gcPercent = 60

// Apply sets what concerns the whole process: feature gates, logging, the target of the garbage collector and its
// memory limit, and settings that libraries have as variables. The command calls it once, before anything else runs. A
// server in a program leaves all of this to the program.
func (o *ValidOptions) Apply() error {
	etcd.UseSmallLogs()
	jsonpatch.AccumulatedCopySizeLimit = documentpatch.MaxCopies
	otel.SetMeterProvider(noopmetric.NewMeterProvider()) // tracing would also measure requests, and keep a series for each
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	addMetricGates()
	if err := o.emulate(); err != nil {
		return fmt.Errorf("--emulated-version: %w", err)
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(o.FeatureGates); err != nil {
		return fmt.Errorf("--feature-gates: %w", err)
	}
	metricsfeatures.ApplyFeatureGates(utilfeature.DefaultFeatureGate)
	out := io.Writer(os.Stderr)
	if len(o.Logs.VModule) == 0 {
		out = newQuietLog(out)
	}
	err := logsapi.ValidateAndApplyWithOptions(o.Logs,
		&logsapi.LoggingOptions{ErrorStream: out, InfoStream: out}, nil)
	if err != nil {
		return err
	}
	limitMemory()
	if len(o.Unused) > 0 {
		klog.Background().WithName(flagLog).Info("Flags without effect", "flags", o.Unused)
	}
	return nil
}

// addMetricGates adds the feature gates of metrics, such as NativeHistograms, to those of the process. kube-apiserver
// does so when it configures a server; the library does not by itself.
var addMetricGates = sync.OnceFunc(func() {
	utilruntime.Must(metricsfeatures.AddFeatureGates(utilfeature.DefaultMutableFeatureGate))
})

// limitMemory gives Go's runtime nine tenths of the memory limit of the container as its own limit, so that garbage is
// collected before the kernel ends the process. The library leaves a GOMEMLIMIT that the user has set as it is.
func limitMemory() {
	_, err := memlimit.Set()
	if err != nil && !errors.Is(err, memlimit.ErrNoCgroup) && !errors.Is(err, memlimit.ErrCgroupsNotSupported) {
		klog.V(1).InfoS("Memory limit of the container is not known", "err", err)
	}
}

// emulate sets the Kubernetes release that the libraries emulate. It must be called before any gate is set.
func (o *Options) emulate() error {
	emulated, err := o.emulatedVersion()
	if emulated == nil || err != nil {
		return err
	}
	effective := compatibility.DefaultComponentGlobalsRegistry.
		EffectiveVersionFor(basecompatibility.DefaultKubeComponent).(basecompatibility.MutableEffectiveVersion)
	effective.SetEmulationVersion(emulated)
	if errs := effective.Validate(); len(errs) > 0 {
		return errs[0]
	}
	return utilfeature.DefaultMutableFeatureGate.SetEmulationVersionAndMinCompatibilityVersion(
		effective.EmulationVersion(), effective.MinCompatibilityVersion())
}

// serveVerbosity sets the verbosity of the log by PUT, as kube-apiserver's /debug/flags/v does.
func serveVerbosity(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if req.Method != http.MethodPut {
		w.WriteHeader(http.StatusNotAcceptable)
		fmt.Fprintln(w, "unsupported http method")
		return
	}
	value, err := io.ReadAll(http.MaxBytesReader(w, req.Body, 1<<10))
	message := ""
	if err == nil {
		message, err = logs.GlogSetter(string(value))
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintln(w, err)
		return
	}
	fmt.Fprintln(w, message)
}
