package managedfields

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Manager keeps track of which manager owns which fields of the objects of one endpoint (W7, W8).
type Manager interface {
	// Update returns obj with the managed fields that follow from a manager changing live into obj. It may modify obj,
	// but not live. It returns an error only when ctx is done.
	Update(ctx context.Context, live, obj runtime.Object, manager string) (runtime.Object, error)
	// Apply returns the result of merging an applied configuration into live. It modifies neither. Unless force is set,
	// it returns a conflict when another manager owns a field that would change. It refuses work that takes too long.
	Apply(ctx context.Context, live, applied runtime.Object, manager string, force bool) (runtime.Object, error)
}

// Config describes the endpoint that a Manager works for.
type Config struct {
	Types     managedfields.TypeConverter
	Convertor runtime.ObjectConvertor
	Defaulter runtime.ObjectDefaulter
	Creater   runtime.ObjectCreater
	// Kind is the kind of the endpoint's objects, Hub the version they have in memory.
	Kind schema.GroupVersionKind
	Hub  schema.GroupVersion
	// Subresource is empty for the main resource.
	Subresource string
	// ResetFields are the fields that a write to the endpoint cannot change, by API version.
	ResetFields ResetFields
}

// typedKind returns an object that consists of its kind, with its type. The type may be compiled again between two
// calls.
func (c *Config) typedKind() (*typed.TypedValue, error) {
	apiVersion, kind := c.Kind.ToAPIVersionAndKind()
	return c.Types.ObjectToTyped(&unstructured.Unstructured{
		Object: map[string]any{"apiVersion": apiVersion, "kind": kind},
	})
}

// ResetFields are the fields that an endpoint does not let clients change, by API version.
type ResetFields = map[fieldpath.APIVersion]*fieldpath.Set

// New returns a Manager for an endpoint of custom resources.
func New(config Config) (Manager, error) {
	library, err := NewLibrary(config)
	if err != nil || !fastPaths {
		return library, err
	}
	return newFast(config, library), nil
}

// ManagerName returns the field manager of a write: the one the client names, or else its user agent up to the first
// slash, without characters that cannot be printed (W8).
func ManagerName(manager, userAgent string) string {
	if manager != "" {
		return manager
	}
	product, _, _ := strings.Cut(userAgent, "/")
	var name strings.Builder
	for _, r := range product {
		if !unicode.IsPrint(r) {
			continue
		}
		if name.Len()+utf8.RuneLen(r) > validation.FieldManagerMaxLength {
			break
		}
		name.WriteRune(r)
	}
	return name.String()
}
