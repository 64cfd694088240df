package crds

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// SameNames reports whether two CRDs request, or have been granted, the same names.
func SameNames(a, b *apiextensionsv1.CustomResourceDefinitionNames) bool {
	return a.Plural == b.Plural && a.Singular == b.Singular && a.Kind == b.Kind && a.ListKind == b.ListKind &&
		slices.Equal(a.ShortNames, b.ShortNames) && slices.Equal(a.Categories, b.Categories)
}

// WaitsForNames reports whether the CRD requests names that it has not been granted.
func (r *Record) WaitsForNames() bool { return !SameNames(&r.Names, &r.AcceptedNames) }
