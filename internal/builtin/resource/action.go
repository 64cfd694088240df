package resource

import (
	"context"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Action is what a subresource accepts that does something with an object, instead of being a part of it: POST with a
// body of a kind of its own, such as serviceaccounts/token with a TokenRequest. The body is not stored.
type Action struct {
	// Object is an empty body, and an empty answer. It is of a type of k8s.io/api.
	Object runtime.Object
	// Default sets the fields that a decoded body leaves out.
	Default func(obj runtime.Object)
	// KeepsSystemFields keeps the UID and the other system fields of the body, which are cleared otherwise.
	KeepsSystemFields bool
}

// ActionRequest is one request for an action.
type ActionRequest struct {
	// Namespace and Name are those of the object.
	Namespace, Name string
	// Body was decoded, has its defaults, and was admitted by mutating admission. The action may change it.
	Body    runtime.Object
	Options *metav1.CreateOptions
	// Admit asks validating admission about a body. The action calls it when it has validated the body.
	Admit func(ctx context.Context, body runtime.Object) error
	// Object has the object that the action is on.
	Object ActionObject
}

// ActionObject is the stored object that an action is on. Its methods ask neither admission nor the rules for writes.
type ActionObject interface {
	// Read returns the object as it is stored.
	Read(ctx context.Context) (runtime.Object, error)
	// Update changes the object, which must exist, and returns its new resourceVersion. change may be called several
	// times, with newer objects. A dry run stores nothing.
	Update(ctx context.Context, dryRun bool, change func(obj runtime.Object) error) (version string, err error)
	// Delete deletes the object, with its grace period and its finalizers.
	Delete(ctx context.Context, options *metav1.DeleteOptions) error
}

// ActionFunc does an action and returns the answer, an object of the action's kind or the Status of a success. It has
// to look whether the object exists.
type ActionFunc func(ctx context.Context, r ActionRequest) (runtime.Object, error)

// GroupVersionKind returns the kind of the bodies.
func (a *Action) GroupVersionKind() schema.GroupVersionKind { return kindOf(a.Object) }

// GroupVersionKind returns the kind of what the subresource of d accepts and answers.
func (s *Subresource) GroupVersionKind(d *Definition) schema.GroupVersionKind {
	switch {
	case s.Action != nil:
		return s.Action.GroupVersionKind()
	case s.Connect != nil:
		return d.GroupVersion.WithKind(s.Connect.Kind)
	case s.Scale != nil:
		return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	}
	return d.GroupVersionKind()
}
