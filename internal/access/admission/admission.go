package admission

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	admissionmetrics "k8s.io/apiserver/pkg/admission/metrics"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	webhookinit "k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/apiserver/pkg/apis/apiserver"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	apiserverv1alpha1 "k8s.io/apiserver/pkg/apis/apiserver/v1alpha1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	basecompatibility "k8s.io/component-base/compatibility"

	"github.com/crd-server/crd-server/internal/access/hostcluster"
	"github.com/crd-server/crd-server/internal/boundedhttp"
)

// Config is what an Admission needs.
type Config struct {
	Options *Options
	// Authorizer decides for the authorizer variable of policies.
	Authorizer authorizer.Authorizer
	// OpenAPI serves this server's /openapi/v3. Without a host cluster, policies get the types of custom resources
	// from it. It may be nil.
	OpenAPI http.RoundTripper
	// Namespaces serves this server's namespaces; nil if it has none. Without a host cluster, plugins get namespaces
	// from it.
	Namespaces http.RoundTripper
	// Tracer traces calls of webhooks.
	Tracer trace.TracerProvider
	// ID names this server in metrics.
	ID string
}

// Admission runs the plugins. Until Run has read the configuration of the host cluster, requests wait.
type Admission struct {
	// Chain admits objects. It implements MutationInterface and ValidationInterface, which embedding would hide.
	Chain     admission.Interface
	informers informers.SharedInformerFactory
	mapper    *restmapper.DeferredDiscoveryRESTMapper
}

// New makes the plugins; nil if none is enabled. The work that they start ends with background. Errors name the flag
// that is wrong.
func New(background context.Context, c Config) (*Admission, error) {
	names := c.Options.plugins()
	if len(names) == 0 {
		return nil, nil
	}
	config, err := c.Options.host(emptyCluster{openAPI: c.OpenAPI, namespaces: c.Namespaces})
	if err != nil {
		return nil, err
	}
	client, err := hostcluster.NewClientset(config)
	if err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	configuration, err := admission.ReadAdmissionConfiguration(names, c.Options.ConfigFile, configScheme)
	if err != nil {
		return nil, fmt.Errorf("--admission-control-config-file %s: %w", c.Options.ConfigFile, err)
	}
	a := &Admission{
		informers: hostcluster.NewInformers(client),
		mapper:    restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
	}
	effective := compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)
	a.Chain, err = registered().NewFromPlugins(names, configuration, admission.PluginInitializers{
		initializer.NewAPIServerIDInitializer(c.ID),
		initializer.New(client, dynamicClient, a.informers, c.Authorizer, utilfeature.DefaultFeatureGate, effective, background.Done(), a.mapper),
		manifests{},
		webhookinit.NewPluginInitializer(
			boundedhttp.FromWebhooks(webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, config, c.Tracer)), webhook.NewDefaultServiceResolver()),
	}, admission.Decorators{admission.DecoratorFunc(admissionmetrics.WithControllerMetrics)})
	if err != nil {
		return nil, fmt.Errorf("admission: %w", err)
	}
	a.Chain = admissionmetrics.WithStepMetrics(a.Chain)
	return a, nil
}

// mapperReset is how often the resources of the host cluster are discovered again. The value is kube-apiserver's.
const mapperReset = 30 * time.Second

// Run runs the informers of the plugins until ctx is done.
func (a *Admission) Run(ctx context.Context) {
	a.informers.StartWithContext(ctx)
	wait.UntilWithContext(ctx, func(context.Context) { a.mapper.Reset() }, mapperReset)
	a.informers.Shutdown()
}

// host is the cluster with webhooks, policies and namespaces, or what takes its place.
func (o *Options) host(instead emptyCluster) (*rest.Config, error) {
	if o.Kubeconfig == "" {
		return instead.config(), nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", o.Kubeconfig, err)
	}
	return config, nil
}

// registered has all plugins.
func registered() *admission.Plugins {
	plugins := &admission.Plugins{}
	lifecycle.Register(plugins)
	mutatingpolicy.Register(plugins)
	mutatingwebhook.Register(plugins)
	validatingpolicy.Register(plugins)
	validatingwebhook.Register(plugins)
	return plugins
}

// configScheme decodes an AdmissionConfiguration.
var configScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(apiserver.AddToScheme(scheme))
	utilruntime.Must(apiserverv1alpha1.AddToScheme(scheme))
	utilruntime.Must(apiserverv1.AddToScheme(scheme))
	return scheme
}()
