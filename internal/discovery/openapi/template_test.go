package openapi

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// TestPathsTemplates compares with the paths that the libraries encode for each resource.
func TestPathsTemplates(t *testing.T) {
	t.Parallel()
	for _, names := range []struct{ group, version, plural, kind, listKind string }{
		{"example.com", "v1", "widgets", "Widget", "WidgetList"},
		{"acme.io", "v1alpha1", "addresses", "Address", "AddressList"}, // another article
		{"x-y.k8s.io", "v2", "things", "Things", "ThingsList"},
		{"apimachinery.k8s.io", "v1", "bodies", "Body", "BodyList"}, // its body is shared
		{"a.b", "v1", "odds", `Od"d <&`, "odd-list"},
		{"a.b", "v1", "os", "hole-1-", "hole-1"},
	} {
		for bits := range 8 {
			crd := &apiextensions.CustomResourceDefinition{Spec: apiextensions.CustomResourceDefinitionSpec{
				Group: names.group, Scope: apiextensions.ClusterScoped,
				Names:        apiextensions.CustomResourceDefinitionNames{Plural: names.plural, Kind: names.kind, ListKind: names.listKind},
				Subresources: &apiextensions.CustomResourceSubresources{},
				Versions:     []apiextensions.CustomResourceDefinitionVersion{{Name: names.version}},
			}}
			if bits&1 != 0 {
				crd.Spec.Scope = apiextensions.NamespaceScoped
			}
			if bits&2 != 0 {
				crd.Spec.Subresources.Status = &apiextensions.CustomResourceSubresourceStatus{}
			}
			if bits&4 != 0 {
				crd.Spec.Subresources.Scale = &apiextensions.CustomResourceSubresourceScale{}
			}
			r, err := newResource(crd, names.version)
			if err != nil {
				t.Fatal(err)
			}
			for name, v := range map[string]*openAPIVersion{"2": version2, "3": version3} {
				t.Run(fmt.Sprint(names.kind, " ", bits, " in version ", name), func(t *testing.T) {
					const before = `"before":1`
					want, err := v.appendOperations([]byte(before), r.operations())
					if err != nil {
						t.Fatal(err)
					}
					got, err := v.appendPaths([]byte(before), r)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(plain(t, fmt.Appendf(nil, "{%s}", want)), plain(t, fmt.Appendf(nil, "{%s}", got))); diff != "" {
						t.Errorf("-want +got\n%s", diff)
					}
				})
			}
		}
	}
}
