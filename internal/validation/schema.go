package validation

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// objectSchema applies the schema of one version to whole objects. librarySchema does so by calling Kubernetes' libraries only.
// fastSchema calls librarySchema unless it finds out faster that there is nothing to do. Building with the tag library selects
// librarySchema, see newObjectSchema. Implementations are safe for concurrent use.
type objectSchema interface {
	// prune removes unknown fields (T1), and nulls that are not allowed and have no default. It returns the paths of the fields if
	// trackUnknown is set.
	prune(obj map[string]any, trackUnknown bool) (unknownFields []string)
	// setDefaults sets the defaults (T4). It returns ErrTooLarge if they add more than limit bytes.
	setDefaults(obj map[string]any, limit int) error
	// validate validates a new object.
	validate(ctx context.Context, obj map[string]any) field.ErrorList
	// validateUpdate validates a changed object.
	validateUpdate(ctx context.Context, obj, old map[string]any, ratchet *ratchet) field.ErrorList
	// validateStatusUpdate validates the status of an object whose status is a subresource.
	validateStatusUpdate(ctx context.Context, obj, old map[string]any, ratchet *ratchet) field.ErrorList
	// validateLists validates that the items of lists of type set and map are unique.
	validateLists(obj map[string]any) field.ErrorList
}
