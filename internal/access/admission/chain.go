package admission

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
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
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	basecompatibility "k8s.io/component-base/compatibility"

	"github.com/crd-server/crd-server/internal/access/hostcluster"
	"github.com/crd-server/crd-server/internal/boundedhttp"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// plugins are the enabled plugins with the informers that they read from.
type plugins struct {
	chain     admission.Interface
	all       []admission.Interface
	informers *hostcluster.Informers
	mapper    *restmapper.DeferredDiscoveryRESTMapper
}

// newChain makes the plugins with some names, and the reinvoker. The work that they start ends with background.
func newChain(background context.Context, c Config, names []string) (*plugins, error) {
	config, err := c.cluster()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of parameters: %w", err)
	}
	names = slices.Concat([]string{reinvocation}, names)
	configuration, err := admission.ReadAdmissionConfiguration(names, c.Options.ConfigFile, configScheme)
	if err != nil {
		return nil, fmt.Errorf("--admission-control-config-file %s: %w", c.Options.ConfigFile, err)
	}
	p := &plugins{
		informers: hostcluster.NewInformers(client),
		mapper:    restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
	}
	defaults := config // clients of webhooks take from it what theirs leave out
	if c.Options.Kubeconfig == "" {
		defaults = &rest.Config{} // the clients of this server are of no use to them
	}
	authentication := webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, defaults, c.Tracer)
	effective := compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)
	collect := func(plugin admission.Interface, name string) admission.Interface {
		if name == reinvocation {
			return plugin // without metrics: kube-apiserver has no such plugin
		}
		p.all = append(p.all, plugin)
		return admissionmetrics.WithControllerMetrics(plugin, name)
	}
	p.chain, err = registered().NewFromPlugins(names, configuration, admission.PluginInitializers{
		initializer.NewAPIServerIDInitializer(c.ID),
		initializer.New(client, dynamicClient, p.informers, c.Authorizer, utilfeature.DefaultFeatureGate, effective,
			background.Done(), p.mapper),
		ruleInitializer{},
		webhookinit.NewPluginInitializer(boundedhttp.FromWebhooks(authentication), c.Services),
	}, admission.Decorators{admission.DecoratorFunc(collect)})
	if err != nil {
		return nil, fmt.Errorf("admission: %w", err)
	}
	p.chain = admissionmetrics.WithStepMetrics(p.chain)
	return p, nil
}

// mapperReset is how often the resources of the host cluster are discovered again. The value is kube-apiserver's.
const mapperReset = 30 * time.Second

// run runs the informers until ctx is done. resets says that the mapper is not told when resources change.
func (p *plugins) run(ctx context.Context, resets bool) {
	var running sync.WaitGroup
	running.Go(func() { p.informers.Run(ctx) })
	if resets {
		wait.UntilWithContext(ctx, func(context.Context) { p.mapper.Reset() }, mapperReset)
	}
	running.Wait()
}

// readyPoll is how often ready looks.
const readyPoll = 5 * time.Millisecond

// ready waits until the plugins have read their rules.
func (p *plugins) ready(ctx context.Context) error {
	isWaiting := func(plugin admission.Interface) bool {
		waits, ok := plugin.(interface{ WaitForReady() bool })
		return ok && !waits.WaitForReady()
	}
	err := wait.PollUntilContextCancel(ctx, readyPoll, true, func(context.Context) (bool, error) {
		return !slices.ContainsFunc(p.all, isWaiting), nil
	})
	if err != nil {
		return fmt.Errorf("read webhooks and policies: %w", err)
	}
	return nil
}

// cluster configures clients of the cluster with webhooks, policies and namespaces, or of what takes its place.
func (c *Config) cluster() (*rest.Config, error) {
	switch {
	case c.Options.Kubeconfig != "":
		config, err := clientcmd.BuildConfigFromFlags("", c.Options.Kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("--kubeconfig %s: %w", c.Options.Kubeconfig, err)
		}
		return config, nil
	case c.ServesRules:
		return c.Own, nil
	}
	return emptyCluster{own: c.Own.Transport}.config(), nil
}

// registered has all plugins.
func registered() *admission.Plugins {
	plugins := &admission.Plugins{}
	plugins.Register(reinvocation, newReinvoker)
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
	install.Install(scheme)
	return scheme
}()

// reinvocation is the name of the plugin that calls those of the resource again. It is the first of all.
const reinvocation = "Reinvocation"

// reinvoker calls the plugins of the resource again after a webhook or a policy has changed an object, as
// kube-apiserver calls its own: a container that a webhook adds to a pod gets limits and a token too. The handler has
// called them first.
type reinvoker struct{ *admission.Handler }

var _ admission.MutationInterface = reinvoker{}

func newReinvoker(io.Reader) (admission.Interface, error) {
	return reinvoker{admission.NewHandler(admission.Create, admission.Update)}, nil
}

// Admit implements admission.MutationInterface.
func (reinvoker) Admit(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	if !attributes.GetReinvocationContext().IsReinvoke() {
		return nil
	}
	return resource.MutateAgain(ctx)
}
