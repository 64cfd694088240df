package managedfields

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"

	"github.com/crd-server/crd-server/internal/crds"
)

// definitionTypes returns the type converter of CRDs.
func definitionTypes(t *testing.T) managedfields.TypeConverter {
	t.Helper()
	models, err := builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{
		GetDefinitions:    generatedopenapi.GetOpenAPIDefinitions,
		GetDefinitionName: openapi.NewDefinitionNamer(crds.Scheme).GetDefinitionName,
	}, apiextensionsv1.CustomResourceDefinition{}.OpenAPIModelName())
	if err != nil {
		t.Fatal(err)
	}
	types, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		t.Fatal(err)
	}
	return types
}

// TestDefinitions compares the managed fields of new CRDs with those of the library, which sees the schemas.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	kind := apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
	manager, err := NewTyped(Config{
		Types: definitionTypes(t), Convertor: crds.Scheme, Defaulter: crds.Scheme, Creater: crds.Scheme, Kind: kind,
		Hub: apiextensions.SchemeGroupVersion,
	})
	if err != nil {
		t.Fatal(err)
	}
	library := manager
	if fast, ok := manager.(definitionManager); ok != fastPaths {
		t.Errorf("got %T, fast paths are %t", manager, fastPaths)
	} else if ok {
		library = fast.Manager
	}
	for name, change := range map[string]func(*apiextensionsv1.CustomResourceDefinition){
		"unchanged":  func(*apiextensionsv1.CustomResourceDefinition) {},
		"no version": func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions = nil },
		"no schema":  func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Schema = nil },
		"metadata": func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Labels, crd.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
			crd.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "other", Operation: "Update",
				APIVersion: kind.GroupVersion().String(),
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:versions":{}}}`)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			crd := machinesCRD(t)
			change(crd)
			internal, err := crds.FromV1(crd)
			if err != nil {
				t.Fatal(err)
			}
			update := func(m Manager) *apiextensions.CustomResourceDefinition {
				obj, err := m.Update(t.Context(), &apiextensionsv1.CustomResourceDefinition{}, internal.DeepCopy(),
					"me")
				if err != nil {
					t.Fatal(err)
				}
				updated := obj.(*apiextensions.CustomResourceDefinition)
				for n := range updated.ManagedFields {
					updated.ManagedFields[n].Time = nil
				}
				return updated
			}
			got, want := update(manager), update(library)
			if len(want.ManagedFields) == 0 {
				t.Error("the library has set no managed fields")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
