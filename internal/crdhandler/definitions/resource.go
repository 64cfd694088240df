package definitions

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crds"
)

// Resource has the names and verbs of CRDs.
var Resource = resource.Definition{
	GroupVersion: apiextensionsv1.SchemeGroupVersion,
	Kind:         "CustomResourceDefinition", Plural: crds.Plural, Singular: "customresourcedefinition",
	ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"},
	Subresources: []resource.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
}
