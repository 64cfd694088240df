package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
)

// Plugin is an admission plugin of kube-apiserver for one resource. It is called before policies and webhooks, for
// writes of the resource itself. Its errors become a 403.
type Plugin struct {
	// Name is that of kube-apiserver, by which the plugin can be switched off.
	Name string
	// Mutate, if set, changes an object. old is nil for a new object.
	Mutate func(ctx context.Context, obj, old runtime.Object) error
	// Validate, if set, decides about a valid object. It must not modify the objects.
	Validate func(ctx context.Context, obj, old runtime.Object) error
}
