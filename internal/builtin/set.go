package builtin

import (
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/wire"
)

// Set is the built-in resources that a server has, with the serializers of their types.
type Set struct {
	// Definitions in the order of the table.
	Definitions []*resource.Definition
	// Scheme has the Go types of the definitions, with defaults and selectable fields, and the unversioned meta types
	// that any response may contain.
	Scheme *runtime.Scheme
	// Codecs are the serializers of the types.
	Codecs wire.Codecs
	// Equivalents says which resources are versions of another.
	Equivalents runtime.EquivalentResourceMapper
}

// NewSet returns the set of some definitions.
func NewSet(definitions []*resource.Definition) (*Set, error) {
	s := &Set{Definitions: definitions, Scheme: newScheme()}
	for _, d := range definitions {
		if err := register(s.Scheme, d); err != nil {
			return nil, fmt.Errorf("built-in resource %s: %w", d.GroupVersionResource().GroupResource(), err)
		}
	}
	// Every version has watch events and options, also one that a subresource has brought.
	for _, gv := range s.Scheme.PrioritizedVersionsAllGroups() {
		metav1.AddToGroupVersion(s.Scheme, gv)
	}
	s.Codecs = wire.NewCodecs(s.Scheme)
	s.Equivalents = s.equivalents()
	return s, nil
}

// Find returns the definition of a resource, or nil if the set does not have it. A resource with several versions has
// several definitions; Find returns the first.
func (s *Set) Find(gr schema.GroupResource) *resource.Definition {
	for _, d := range s.Definitions {
		if d.GroupVersionResource().GroupResource() == gr {
			return d
		}
	}
	return nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	scheme.AddUnversionedTypes(unversioned,
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	return scheme
}

// registerSubresources adds the types that subresources have instead of that of the resource: Scales, options of
// connections, and the bodies of actions.
func registerSubresources(scheme *runtime.Scheme, d *resource.Definition) {
	for _, sub := range d.Subresources {
		if sub.Scale != nil {
			scheme.AddKnownTypes(autoscalingv1.SchemeGroupVersion, &autoscalingv1.Scale{})
		}
		if sub.Connect != nil {
			scheme.AddKnownTypeWithName(sub.GroupVersionKind(d), sub.Connect.Object)
		}
		action := sub.Action
		if action == nil {
			continue
		}
		scheme.AddKnownTypeWithName(action.GroupVersionKind(), action.Object)
		if action.Default != nil {
			scheme.AddTypeDefaultingFunc(action.Object, func(obj any) { action.Default(obj.(runtime.Object)) })
		}
	}
}

// register adds the types of a definition to a scheme.
func register(scheme *runtime.Scheme, d *resource.Definition) error {
	scheme.AddKnownTypeWithName(d.GroupVersionKind(), d.Object)
	if d.List != nil {
		scheme.AddKnownTypeWithName(d.GroupVersion.WithKind(d.Kind+"List"), d.List)
	}
	if stored := d.Storage; stored != nil {
		scheme.AddKnownTypeWithName(stored.GroupVersion.WithKind(stored.Kind), stored.Object)
	}
	if d.Default != nil {
		scheme.AddTypeDefaultingFunc(d.Object, func(obj any) { d.Default(obj.(runtime.Object)) })
	}
	registerSubresources(scheme, d)
	if d.Fields == nil {
		return nil // apimachinery accepts the name and the namespace
	}
	return scheme.AddFieldLabelConversionFunc(d.GroupVersionKind(), d.ConvertField)
}
