package admission

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// Config is what an Admission needs.
type Config struct {
	Options *Options
	// Authorizer decides for the authorizer variable of policies.
	Authorizer authorizer.Authorizer
	// Own configures clients of this server. If there is no host cluster, plugins read from it.
	Own *rest.Config
	// ServesRules says that this server serves webhooks and policies as objects, and namespaces. Else plugins read only
	// the types of custom resources from it, and every namespace exists.
	ServesRules bool
	// Services finds the addresses of webhooks that are services.
	Services webhook.ServiceResolver
	// Tracer traces calls of webhooks.
	Tracer trace.TracerProvider
	// ID names this server in metrics.
	ID string
}

// Admission runs the plugins. It implements MutationInterface and ValidationInterface.
//
// A server that stands alone mostly has no webhooks and policies. Then nothing is admitted and no plugin exists: they
// are made when the first webhook or binding of a policy appears, which Follow finds out. With a host cluster or
// manifests in files, they are made at once. Until they have read their rules, requests wait.
type Admission struct {
	// hosted says that the rules are those of a host cluster.
	hosted bool
	// made returns the plugins, and makes them on the first call.
	made func() (*plugins, error)
	// needed is closed when the plugins have to run.
	needed chan struct{}
	need   func() // closes needed, once
	// rules has the numbers of objects that plugins act on, by resource; empty unless they are in this server.
	rules []*followed
	// always says that there may be other rules than those.
	always bool
}

var (
	_ admission.MutationInterface   = &Admission{}
	_ admission.ValidationInterface = &Admission{}
)

// New returns an Admission; nil if no plugin is enabled. The work that its plugins start ends with background. Errors
// name the flag that is wrong.
func New(background context.Context, c Config) (*Admission, error) {
	names := c.Options.plugins(c.ServesRules)
	if len(names) == 0 {
		return nil, nil
	}
	a := &Admission{
		needed: make(chan struct{}),
		hosted: c.Options.Kubeconfig != "", always: c.Options.Kubeconfig != "" || c.Options.ConfigFile != "",
	}
	a.made = sync.OnceValues(func() (*plugins, error) { return newChain(background, c, names) })
	a.need = sync.OnceFunc(func() { close(a.needed) })
	if a.always {
		if _, err := a.made(); err != nil {
			return nil, err
		}
		a.need()
	}
	return a, nil
}

// Handles implements Interface. It returns false while there are no rules, so that requests cost nothing then.
func (a *Admission) Handles(operation admission.Operation) bool {
	if !a.active() {
		return false
	}
	for _, f := range a.rules {
		if f.count.Load() == unknown {
			return true // Admit and Validate wait
		}
	}
	p, err := a.made()
	return err != nil || p.chain.Handles(operation) // Admit and Validate return the error
}

// active reports whether there are rules that may apply to requests, or may be.
func (a *Admission) active() bool {
	return a.always || slices.ContainsFunc(a.rules, (*followed).any)
}

// Admit implements MutationInterface.
func (a *Admission) Admit(ctx context.Context, attributes admission.Attributes, o admission.ObjectInterfaces) error {
	p, err := a.inEffect(ctx)
	if p == nil || err != nil {
		return err
	}
	return p.chain.(admission.MutationInterface).Admit(ctx, attributes, o)
}

// Validate implements ValidationInterface.
func (a *Admission) Validate(ctx context.Context, attributes admission.Attributes, o admission.ObjectInterfaces) error {
	p, err := a.inEffect(ctx)
	if p == nil || err != nil {
		return err
	}
	return p.chain.(admission.ValidationInterface).Validate(ctx, attributes, o)
}

// inEffect returns the plugins if there are rules, else nil. It waits until that is known. Its error is an API error.
func (a *Admission) inEffect(ctx context.Context) (*plugins, error) {
	for _, f := range a.rules {
		select {
		case <-f.known:
		case <-ctx.Done():
			return nil, apierrors.NewTimeoutError("webhooks and policies have not been read yet", 1)
		}
	}
	if !a.active() {
		return nil, nil
	}
	p, err := a.made()
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return p, nil
}

// Run follows the rules, and runs the informers of the plugins when they are needed, until ctx is done.
func (a *Admission) Run(ctx context.Context) {
	var following sync.WaitGroup
	defer following.Wait()
	for _, f := range a.rules {
		following.Go(func() { f.run(ctx, a.need) })
	}
	select {
	case <-a.needed:
	case <-ctx.Done():
		return
	}
	p, err := a.made()
	if err != nil {
		klog.FromContext(ctx).Error(err, "Admission plugins cannot be made; requests will fail")
		return
	}
	p.run(ctx, a.hosted)
}

// Ready waits until the rules that were stored before the call apply to requests.
func (a *Admission) Ready(ctx context.Context) error {
	p, err := a.inEffect(ctx)
	if p == nil || err != nil {
		return err
	}
	return p.ready(ctx)
}

// ResourcesChanged says that this server may serve other resources than before, so that policies find the resources of
// their parameters.
func (a *Admission) ResourcesChanged() {
	select {
	case <-a.needed:
		if p, err := a.made(); err == nil {
			p.mapper.Reset()
		}
	default:
	}
}
