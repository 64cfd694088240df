package validation

import (
	"context"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// librarySchema is the objectSchema that only calls Kubernetes' libraries. The zero librarySchema knows no field.
type librarySchema struct {
	version    *Version
	structural *structuralschema.Structural // nil without a structural schema
	// newValidator replaces the library's constructor of validators if it is not nil.
	newValidator func(schema *spec.Schema) apiservervalidation.SchemaValidator
}

var _ objectSchema = &librarySchema{}

func (s *librarySchema) prune(obj map[string]any, trackUnknown bool) (unknownFields []string) {
	unknownFields = pruning.PruneWithOptions(obj, s.structural, true, structuralschema.UnknownFieldPathOptions{
		TrackUnknownFieldPaths: trackUnknown,
	})
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, s.structural)
	return unknownFields
}

// setDefaults does not limit the size of defaults: the library cannot.
func (s *librarySchema) setDefaults(obj map[string]any, _ int) error {
	defaulting.Default(obj, s.structural)
	return nil
}

func (s *librarySchema) validate(_ context.Context, obj map[string]any) field.ErrorList {
	schema, err := s.version.openAPISchema()
	if err != nil {
		return internalError(err)
	}
	return apiservervalidation.ValidateCustomResource(nil, obj, s.validator(schema))
}

func (s *librarySchema) validateUpdate(_ context.Context, obj, old map[string]any, ratchet *ratchet) field.ErrorList {
	schema, err := s.version.openAPISchema()
	if err != nil {
		return internalError(err)
	}
	return apiservervalidation.ValidateCustomResourceUpdate(nil, obj, old, s.validator(schema), ratchet.schemaOptions()...)
}

func (s *librarySchema) validateStatusUpdate(
	_ context.Context, obj, old map[string]any, ratchet *ratchet,
) field.ErrorList {
	status, ok := obj["status"]
	if !ok {
		return nil
	}
	schema, err := s.version.statusOpenAPISchema()
	switch {
	case err != nil:
		return internalError(err)
	case schema == nil:
		return nil
	}
	return apiservervalidation.ValidateCustomResourceUpdate(field.NewPath("status"), status, old["status"],
		s.validator(schema), ratchet.statusOptions()...)
}

func (s *librarySchema) validateLists(obj map[string]any) field.ErrorList {
	return listtype.ValidateListSetsAndMaps(nil, s.structural, obj)
}

func (s *librarySchema) validator(schema *spec.Schema) apiservervalidation.SchemaValidator {
	if s.newValidator != nil {
		return s.newValidator(schema)
	}
	return apiservervalidation.NewSchemaValidatorFromOpenAPI(schema)
}

// objectSchema applies the schema of one version to whole objects. librarySchema does so by calling Kubernetes'
// libraries only. fastSchema calls librarySchema unless it finds out faster that there is nothing to do. Building with
// the tag library selects librarySchema, see newObjectSchema. Implementations are safe for concurrent use.
type objectSchema interface {
	// prune removes unknown fields (T1), and nulls that are not allowed and have no default. It returns the paths of
	// the fields if trackUnknown is set.
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
