package definitions

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// ProtectAnnotation of a CRD says whether its deletion is refused while it has objects. It is "true" or "false".
const ProtectAnnotation = "crd-server.io/protect"

// CauseTypeProtected is the type of the cause in the answer to a deletion that the protection refuses.
const CauseTypeProtected metav1.CauseType = "CustomResourceDefinitionProtected"

// Protection refuses to delete CRDs that have objects, because the objects would be deleted too (C11).
type Protection struct {
	Store *dynamicstorage.Store
	// All protects every CRD whose annotation is not "false".
	All bool
}

// BeforeDelete refuses to delete a protected CRD that has objects. If it has none, BeforeDelete returns the condition
// that this is still so at the commit. Then the CRD should be removed at once. While a CRD is terminating, a replica
// that does not know it yet may create an object, which would be deleted. When the CRD is gone, that fails.
func (p Protection) BeforeDelete(ctx context.Context, obj runtime.Object) ([]dynamicstorage.Condition, error) {
	crd := obj.(*apiextensions.CustomResourceDefinition)
	group, plural := crd.Spec.Group, crd.Spec.Names.Plural
	by := p.protector(crd)
	if by == "" || crds.HasBuiltInObjects(group, plural) {
		return nil, nil
	}
	objects := p.Store.Resource(group, plural)
	n, err := objects.Count(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("counting the objects of CustomResourceDefinition %s: %w", crd.Name, err)
	case n > 0:
		return nil, protected(crd.Name, by, n)
	}
	return []dynamicstorage.Condition{objects.Empty()}, nil
}

// protector names what protects a CRD. It is empty if nothing does.
func (p Protection) protector(crd *apiextensions.CustomResourceDefinition) string {
	value := crd.Annotations[ProtectAnnotation]
	switch {
	case value == "true":
		return "the annotation " + ProtectAnnotation
	case p.All && value != "false":
		return "the server (--protect-crds)"
	}
	return ""
}

// protected returns the answer to the deletion of a CRD with n objects.
func protected(name, by string, n int64) error {
	objects := "1 object"
	if n != 1 {
		objects = fmt.Sprintf("%d objects", n)
	}
	err := apierrors.NewConflict(Resource.GroupVersionResource().GroupResource(), name, fmt.Errorf(
		"it has %s, and is protected by %s; delete the objects first, or allow their deletion: "+
			"kubectl annotate crd %s %s=false --overwrite", objects, by, name, ProtectAnnotation))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    CauseTypeProtected,
		Field:   annotationPath.String(),
		Message: "has " + objects,
	}}
	return err
}

var annotationPath = field.NewPath("metadata", "annotations").Key(ProtectAnnotation)

// protectionErrors returns an error if the annotation is neither "true" nor "false", so that nobody takes a misspelt
// one for a protection.
func protectionErrors(crd *apiextensions.CustomResourceDefinition) field.ErrorList {
	switch value, annotated := crd.Annotations[ProtectAnnotation]; {
	case !annotated, value == "true", value == "false":
		return nil
	default:
		return field.ErrorList{field.NotSupported(annotationPath, value, []string{"true", "false"})}
	}
}
