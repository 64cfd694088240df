package openapi

import (
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crd-server/crd-server/internal/crds"
)

// TestShapesEqualUpstream compares sections of resources of all shapes, with various names, with the builder's
// documents.
func TestShapesEqualUpstream(t *testing.T) {
	t.Parallel()
	for _, names := range []struct{ group, version, plural, kind, listKind string }{
		{"example.com", "v1", "widgets", "Widget", "WidgetList"},
		{"acme.io", "v1alpha1", "addresses", "Address", "AddressList"}, // another article
		{"x-y.k8s.io", "v2", "things", "Things", "ThingsList"},         // no article
		{"3a.b", "v-1-x", "odd-ones", "odd-one2", "odd-list"},          // other forms in IDs and tags
		{"example.com", "v1", "namespaces", "list", "List"},
	} {
		for bits := range 16 {
			if names.kind != "Widget" && bits%15 != 0 {
				continue // the names of other resources fill the same template
			}
			s := shape{namespaced: bits&1 != 0, status: bits&2 != 0, scale: bits&4 != 0, selectable: bits&8 != 0}
			crd := s.sample()
			crd.Name = names.plural + "." + names.group
			crd.Spec.Group, crd.Spec.Versions[0].Name = names.group, names.version
			crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: names.plural, Kind: names.kind,
				ListKind: names.listKind}
			internal, err := crds.FromV1(crd.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			t.Run(fmt.Sprintf("%s %+v", names.kind, s), func(t *testing.T) {
				compareV3(t, crd, internal, names.version)
				compareV2(t, crd, internal)
			})
		}
	}
}

// TestNamesAreEscaped fills a template with names that no valid CRD has. The section must not break the document.
func TestNamesAreEscaped(t *testing.T) {
	t.Parallel()
	crd := shape{namespaced: true, scale: true, selectable: true}.sample()
	crd.Spec.Names.Kind, crd.Spec.Versions[0].SelectableFields[0].JSONPath = `Od"d <&\`, `.a["b"]`
	internal, err := crds.FromV1(crd)
	if err != nil {
		t.Fatal(err)
	}
	section, err := V2(internal)
	if err != nil {
		t.Fatal(err)
	}
	document, err := forTests.V2()
	if err != nil {
		t.Fatal(err)
	}
	definitions := plain(t, document.wrap(section))["definitions"].(map[string]any)
	if name := `group.sample.sample-version.Od"d <&\`; definitions[name] == nil {
		t.Errorf("no definition %s", name)
	}
}
