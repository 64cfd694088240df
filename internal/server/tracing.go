package server

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	configapi "k8s.io/apiserver/pkg/apis/apiserver/install"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/tracing"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"k8s.io/klog/v2"
)

// newTracing returns a provider that sends the spans of a service as a TracingConfiguration says, until lifecycle ends;
// nil without a file.
func newTracing(lifecycle context.Context, file, service string) (tracing.TracerProvider, error) {
	if file == "" {
		return nil, nil
	}
	var provider tracing.TracerProvider
	config, err := readTracing(file)
	if err == nil {
		provider, err = tracing.NewProvider(lifecycle, config, nil, []resource.Option{
			resource.WithAttributes(semconv.ServiceNameKey.String(service)),
		})
	}
	if err != nil {
		return nil, fmt.Errorf("--tracing-config-file %s: %w", file, err)
	}
	return provider, nil
}

func readTracing(file string) (*tracingapi.TracingConfiguration, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	configapi.Install(scheme)
	config := &apiserver.TracingConfiguration{}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder()
	if err := runtime.DecodeInto(decoder, data, config); err != nil {
		return nil, err
	}
	errs := tracingapi.ValidateTracingConfiguration(&config.TracingConfiguration, utilfeature.DefaultFeatureGate, nil)
	return &config.TracingConfiguration, errs.ToAggregate()
}

// tracerOf returns the provider for libraries: one that does nothing if there is none.
func tracerOf(provider tracing.TracerProvider) trace.TracerProvider {
	if provider == nil {
		return noop.NewTracerProvider()
	}
	return provider
}

// lastSpans bounds the time for sending the remaining spans.
const lastSpans = 2 * time.Second

// stopTracing sends the remaining spans, although ctx is done.
func (a *access) stopTracing(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSpans)
	defer cancel()
	if err := a.tracer.Shutdown(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to send the last spans")
	}
}
