package validation

import (
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ReplicasPathMappings returns for every apiVersion the path of the replicas of the scale subresource, nil for a version without the
// subresource (W9).
func (s *Set) ReplicasPathMappings() managedfields.ResourcePathMappings {
	mappings := managedfields.ResourcePathMappings{}
	for _, v := range s.versions {
		var path fieldpath.Path
		if scale := v.HasScale(); scale != nil {
			for _, name := range splitPath(scale.SpecReplicasPath) {
				path = append(path, fieldpath.PathElement{FieldName: &name})
			}
		}
		mappings[v.groupVersion().String()] = path
	}
	return mappings
}

// validateScaleSpec validates that the desired replicas fit into the scale subresource (S3).
func (v *Version) validateScaleSpec(obj *unstructured.Unstructured) field.ErrorList {
	scale := v.HasScale()
	if scale == nil {
		return nil
	}
	return validateReplicas(obj, scale.SpecReplicasPath)
}

// validateScaleStatus validates the observed replicas and the label selector in the same way.
func (v *Version) validateScaleStatus(obj *unstructured.Unstructured) field.ErrorList {
	scale := v.HasScale()
	if scale == nil {
		return nil
	}
	errs := validateReplicas(obj, scale.StatusReplicasPath)
	if path := scale.LabelSelectorPath; path != nil {
		if selector, _, err := unstructured.NestedString(obj.Object, splitPath(*path)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*path), selector, err.Error()))
		}
	}
	return errs
}

func validateReplicas(obj *unstructured.Unstructured, path string) field.ErrorList {
	replicas, _, err := unstructured.NestedInt64(obj.Object, splitPath(path)...)
	invalid := func(detail string) field.ErrorList {
		return field.ErrorList{field.Invalid(field.NewPath(path), replicas, detail)}
	}
	switch {
	case err != nil:
		return invalid(err.Error())
	case replicas < 0:
		return invalid("should be a non-negative integer")
	case replicas > math.MaxInt32:
		return invalid(fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))
	}
	return nil
}

// splitPath splits a dotted path, with or without a leading dot, into names.
func splitPath(path string) []string {
	return strings.Split(strings.TrimPrefix(path, "."), ".")
}
