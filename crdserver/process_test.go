package crdserver_test

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/version" // a program may register the metric of its own version

	"github.com/crd-server/crd-server/crdserver"
)

// processState is state of other packages that all parts of a process share.
type processState struct {
	LogFileSize     int64
	CopyLimit       int64
	NegativeIndices bool
	GOGC            uint64
	MemoryLimit     uint64
	Gates           map[featuregate.Feature]bool
	Types           map[schema.GroupVersionKind]reflect.Type
	MeterProvider   metric.MeterProvider
	TracerProvider  trace.TracerProvider
	ErrorHandlers   int
	PanicHandlers   int
}

func currentState() processState {
	limits := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(limits)
	state := processState{
		LogFileSize: wal.SegmentSizeBytes,
		CopyLimit:   jsonpatch.AccumulatedCopySizeLimit, NegativeIndices: jsonpatch.SupportNegativeIndices,
		GOGC: limits[0].Value.Uint64(), MemoryLimit: limits[1].Value.Uint64(),
		Gates: map[featuregate.Feature]bool{}, Types: scheme.Scheme.AllKnownTypes(),
		MeterProvider: otel.GetMeterProvider(), TracerProvider: otel.GetTracerProvider(),
		ErrorHandlers: len(utilruntime.ErrorHandlers), PanicHandlers: len(utilruntime.PanicHandlers),
	}
	for name := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		state.Gates[name] = utilfeature.DefaultFeatureGate.Enabled(name)
	}
	return state
}

// imported is the state after the packages were initialized, and importedMetrics are the names of the metrics.
var (
	imported        = currentState()
	importedMetrics = metricNames()
)

// metricNames returns the names of the metrics that are registered for the process and have a value.
func metricNames() (names []string) {
	families, err := legacyregistry.DefaultGatherer.Gather()
	utilruntime.Must(err)
	for _, family := range families {
		names = append(names, family.GetName())
	}
	return names
}

// TestImportChangesNothing compares the state of the process after the import with the defaults of the libraries.
func TestImportChangesNothing(t *testing.T) {
	t.Parallel()
	want := imported
	want.LogFileSize, want.CopyLimit, want.NegativeIndices = 64*1000*1000, 0, true
	want.Gates = map[featuregate.Feature]bool{}
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		want.Gates[name] = spec.Default
	}
	all := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(all))
	want.Types = all.AllKnownTypes()
	if os.Getenv("GOGC") == "" {
		want.GOGC = 100
	}
	compareStates(t, imported, want)
	for _, name := range importedMetrics {
		if strings.HasPrefix(name, "crd_server_") {
			t.Errorf("the import has registered the metric %s", name)
		}
	}
}

// TestServersChangeNothing compares the state of the process while a server runs with that after the import.
func TestServersChangeNothing(t *testing.T) {
	t.Parallel()
	tracing := filepath.Join(t.TempDir(), "tracing.yaml")
	config := "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: 127.0.0.1:1\n"
	if err := os.WriteFile(tracing, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, crdserver.Options{
		BuiltinResources: crdserver.All, Logger: logr.Discard(), Flags: []string{"--tracing-config-file=" + tracing},
	})
	compareStates(t, currentState(), imported)
}

// compareStates reports the fields in which two states differ.
func compareStates(t *testing.T, got, want processState) {
	t.Helper()
	for i := range reflect.TypeFor[processState]().NumField() {
		is, was := reflect.ValueOf(got).Field(i), reflect.ValueOf(want).Field(i)
		if !reflect.DeepEqual(is.Interface(), was.Interface()) {
			t.Errorf("%s is %v, not %v", reflect.TypeFor[processState]().Field(i).Name, is, was)
		}
	}
}

// TestMetricsOfEachServer checks that a server shows the size of its own cache of schemas.
func TestMetricsOfEachServer(t *testing.T) {
	t.Parallel()
	used := run(t, crdserver.Options{CRDs: []*apiextensionsv1.CustomResourceDefinition{tablesCRD()}})
	idle := run(t, crdserver.Options{})
	client := dynamic.NewForConfigOrDie(used.Config()).Resource(tables).Namespace("default")
	if _, err := client.Create(t.Context(), table("one"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const empty = "\ncrd_server_schema_cache_bytes 0\n"
	for server, want := range map[*crdserver.Server]bool{used: false, idle: true} {
		page, err := kubernetes.NewForConfigOrDie(server.Config()).RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(page), empty); got != want {
			t.Errorf("the cache is empty: %t, not %t", got, want)
		}
	}
}
