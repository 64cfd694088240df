package crdhandler

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/crds"
)

// TestDefinitionFields compares the managed fields of new CRDs with those that the library alone comes to.
func TestDefinitionFields(t *testing.T) {
	kind := apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
	scope := &requestScope{kind: kind, hub: apiextensions.SchemeGroupVersion, objects: objectInterfaces{
		creater: crds.Scheme, typer: crds.Scheme, defaulter: crds.Scheme, convertor: crds.Scheme,
	}}
	manager, err := scope.definitionFieldManager(nil)()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*apiextensionsv1.CustomResourceDefinition){
		"as it is":   func(*apiextensionsv1.CustomResourceDefinition) {},
		"no version": func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions = nil },
		"no schema":  func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Schema = nil },
		"two versions": func(crd *apiextensionsv1.CustomResourceDefinition) {
			another := crd.Spec.Versions[0].DeepCopy()
			another.Name, another.Storage, another.Schema = "v2", false, nil
			crd.Spec.Versions = append(crd.Spec.Versions, *another)
		},
		"metadata": func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Labels, crd.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
			crd.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "other", Operation: "Update", APIVersion: kind.GroupVersion().String(),
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:versions":{}}}`)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			crd := gadget()
			change(crd)
			internal, err := crds.FromV1(crd)
			if err != nil {
				t.Fatal(err)
			}
			want := manager.(definitionFields).library.UpdateNoErrors(&apiextensionsv1.CustomResourceDefinition{}, internal.DeepCopy(), "me")
			got, err := manager.Update(t.Context(), &apiextensionsv1.CustomResourceDefinition{}, internal.DeepCopy(), "me")
			if err != nil {
				t.Fatal(err)
			}
			times := func(fields []metav1.ManagedFieldsEntry) {
				for n := range fields {
					fields[n].Time = nil
				}
			}
			times(accessor(want).GetManagedFields())
			times(accessor(got).GetManagedFields())
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
