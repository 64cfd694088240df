package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
)

// Plugin is an admission plugin of kube-apiserver for one resource. It is called before policies and webhooks, for
// writes of the resource itself or of one of its subresources. Its errors become a 403, unless they are API errors.
type Plugin struct {
	// Name is that of kube-apiserver, by which the plugin can be switched off.
	Name string
	// Subresource names the endpoint that the plugin is for. It is empty for the resource itself.
	Subresource string
	// Mutate, if set, changes an object. old is nil for a new object.
	Mutate func(ctx context.Context, obj, old runtime.Object) error
	// Validate, if set, decides about a valid object. It must not modify the objects.
	Validate func(ctx context.Context, obj, old runtime.Object) error
}

// PluginsOf returns the plugins of a subresource, or of the resource itself if the name is empty.
func (d *Definition) PluginsOf(subresource string) (plugins []Plugin) {
	for _, plugin := range d.Plugins {
		if plugin.Subresource == subresource {
			plugins = append(plugins, plugin)
		}
	}
	return plugins
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
