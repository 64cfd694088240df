package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Plugin admits the writes of one endpoint. Its functions are the phases of a write, in their order. A phase calls the
// plugins of the endpoint in the order of their list. A function that is nil does nothing. In all of them old is the
// object that is updated, and nil for a new object. Only Mutate may modify an object.
type Plugin struct {
	// Name is the name of kube-apiserver's plugin, by which flags can switch it off. A plugin without a name is a part of
	// the registry in kube-apiserver.
	Name string
	// Resource and Subresource name the endpoint. Subresource is empty for the resource itself.
	Resource    schema.GroupResource
	Subresource string

	// Mutate changes an object, before policies and webhooks do. It is called again when they have changed the object.
	// Its error becomes a 403, unless it is an API error.
	Mutate func(ctx context.Context, obj, old runtime.Object) error
	// Authorize decides whether the user of a request may write the object, besides the authorization of the request
	// itself. It is called after all mutations and before validation. Its error is the answer.
	Authorize func(ctx context.Context, obj, old runtime.Object) error
	// Check adds errors to those that the strategy has found, and returns all. It is for rules of a kind that depend on
	// more than the object, such as what the user may do.
	Check func(ctx context.Context, obj, old runtime.Object, errs field.ErrorList) field.ErrorList
	// Validate decides about a valid object, before policies and webhooks do. Its error is as that of Mutate.
	Validate func(ctx context.Context, obj, old runtime.Object) error
}

// Plugins is an ordered list.
type Plugins []Plugin

// For returns the plugins of an endpoint.
func (p Plugins) For(resource schema.GroupResource, subresource string) (found Plugins) {
	for _, plugin := range p {
		if plugin.Resource == resource && plugin.Subresource == subresource {
			found = append(found, plugin)
		}
	}
	return found
}

// Rules returns a strategy with the errors of Check.
func (p Plugins) Rules(strategy Strategy) Strategy {
	for _, plugin := range p {
		if plugin.Check != nil {
			strategy = checkedRules{strategy, plugin}
		}
	}
	return strategy
}

// checkedRules are the rules of a strategy, with the errors of a plugin.
type checkedRules struct {
	Strategy
	plugin Plugin
}

// Validate implements Strategy.
func (r checkedRules) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	return r.plugin.Check(ctx, obj, nil, r.Strategy.Validate(ctx, obj))
}

// ValidateUpdate implements Strategy.
func (r checkedRules) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return r.plugin.Check(ctx, obj, old, r.Strategy.ValidateUpdate(ctx, obj, old))
}

// OnCreate returns a function of a plugin that leaves updates alone.
func OnCreate[T runtime.Object](
	admit func(ctx context.Context, obj T) error,
) func(ctx context.Context, obj, old runtime.Object) error {
	return func(ctx context.Context, obj, old runtime.Object) error {
		if old != nil {
			return nil
		}
		return admit(ctx, obj.(T))
	}
}

type pluginsKey struct{}

// WithPlugins returns a context for admission by webhooks and policies. mutate calls the plugins of the resource.
func WithPlugins(ctx context.Context, mutate func(ctx context.Context) error) context.Context {
	return context.WithValue(ctx, pluginsKey{}, mutate)
}

// MutateAgain calls the plugins of the resource, if there are any.
func MutateAgain(ctx context.Context) error {
	if mutate, ok := ctx.Value(pluginsKey{}).(func(ctx context.Context) error); ok {
		return mutate(ctx)
	}
	return nil
}
