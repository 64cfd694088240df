package openapi

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/handler"
	"sigs.k8s.io/yaml"

	"github.com/crd-server/crd-server/internal/crds"
)

// forTests has the static parts of documents.
var forTests = NewStatic("", nil)

// definitions are CRDs that together use every branch of the package.
var definitions = map[string]string{
	"namespaced": `
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    selectableFields: [{jsonPath: .spec.color}, {jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        description: Widget is one.
        required: [spec]
        properties:
          spec:
            type: object
            required: [color, maybe]
            properties:
              color: {type: string, enum: [red, green], default: red, description: The color.}
              size: {type: integer, format: int64, minimum: 1, maximum: 10, exclusiveMaximum: true, multipleOf: 1}
              maybe: {type: string, nullable: true}
              port: {x-kubernetes-int-or-string: true}
              portOf:
                x-kubernetes-int-or-string: true
                anyOf: [{type: integer}, {type: string}]
              names: {type: array, x-kubernetes-list-type: set, maxItems: 5, items: {type: string, pattern: "^a+$"}}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, value: {type: number, default: 1.5}}
              labels: {type: object, additionalProperties: {type: string, nullable: true}, maxProperties: 3}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}
              freeList: {type: array, x-kubernetes-preserve-unknown-fields: true, items: {type: object,
                x-kubernetes-preserve-unknown-fields: true}}
              template:
                type: object
                x-kubernetes-embedded-resource: true
                properties: {spec: {type: object, properties: {x: {type: string}}}}
              templates:
                type: array
                items: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              oneOfThem:
                type: object
                properties: {a: {type: string}, b: {type: string}}
                oneOf: [{required: [a]}, {required: [b]}]
                not: {required: [a, b]}
              ruled:
                type: object
                x-kubernetes-map-type: atomic
                x-kubernetes-validations: [{rule: "self.a == 'x'", message: no}]
                properties: {a: {type: string, title: A, externalDocs: {url: "https://example.com"}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
  - name: v1beta1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true,
      properties: {spec: {type: object}}}}
  - name: v1alpha1
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object}}
`,
	"cluster": `
spec:
  group: acme.io
  scope: Cluster
  names: {plural: addresses, singular: address, kind: Address, listKind: AddressList}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {metadata: {type: object, properties: {name: {type: string,
      maxLength: 9}}}}}}
`,
	"plural kind": `
spec:
  group: x-y.k8s.io
  scope: Cluster
  names: {plural: things, singular: things, kind: Things, listKind: ThingsList}
  versions:
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`,
	"no schema": `
spec:
  group: old.example.com
  scope: Namespaced
  preserveUnknownFields: true
  names: {plural: olds, singular: old, kind: Old, listKind: OldList}
  versions:
  - {name: v1, served: true, storage: true}
`,
	"unstructural": `
spec:
  group: old.example.com
  scope: Namespaced
  names: {plural: bads, singular: bad, kind: Bad, listKind: BadList}
  versions:
  - {name: v1, served: true, storage: true,
    schema: {openAPIV3Schema: {properties: {spec: {properties: {a: {type: string}}}}}}}
`,
	"preserving": `
spec:
  group: old.example.com
  scope: Namespaced
  preserveUnknownFields: true
  names: {plural: keeps, singular: keep, kind: Keep, listKind: KeepList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object,
    properties: {spec: {type: object}}}}}
`,
}

func parse(t testing.TB, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), crd); err != nil {
		t.Fatal(err)
	}
	crd.Name = crd.Spec.Names.Plural + "." + crd.Spec.Group
	return crd
}

// plain returns a document as a client decodes it.
func plain(t testing.TB, document any) map[string]any {
	t.Helper()
	encoded, ok := document.([]byte)
	if !ok {
		var err error
		if encoded, err = json.Marshal(document); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]any{}
	if err := json.Unmarshal(encoded, &out); err != nil {
		t.Fatalf("%v\n%s", err, encoded)
	}
	return out
}

func TestV3EqualsUpstream(t *testing.T) {
	t.Parallel()
	for name, text := range definitions {
		t.Run(name, func(t *testing.T) {
			crd := parse(t, text)
			internal, err := crds.FromV1(crd.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range crd.Spec.Versions {
				compareV3(t, crd, internal, v.Name)
			}
		})
	}
}

// compareV3 compares the document of a CRD in one version.
func compareV3(
	t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, internal *apiextensions.CustomResourceDefinition,
	version string,
) {
	t.Helper()
	want, err := builder.BuildOpenAPIV3(crd.DeepCopy(), version, builder.Options{IncludeSelectableFields: true})
	if err != nil {
		t.Fatal(err)
	}
	section, err := V3(internal, version)
	if err != nil {
		t.Fatal(err)
	}
	document, err := forTests.V3(section.Scale)
	if err != nil {
		t.Fatal(err)
	}
	got := join(document, section)
	wanted, gotten := plain(t, want), plain(t, got)
	compareMembers(t, "paths", wanted, gotten)
	compareMembers(t, "schemas", wanted["components"].(map[string]any), gotten["components"].(map[string]any))
	if !reflect.DeepEqual(wanted, gotten) {
		t.Errorf("%s: the documents differ", version)
	}
}

// join adds a section to a document that has no paths.
func join(d *Document, s *Section) []byte {
	return []byte(string(d.Begin) + string(s.Paths) + string(d.Middle) + "," + string(s.Definitions) + string(d.End))
}

func TestV2EqualsUpstream(t *testing.T) {
	t.Parallel()
	for name, text := range definitions {
		t.Run(name, func(t *testing.T) {
			crd := parse(t, text)
			internal, err := crds.FromV1(crd.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			compareV2(t, crd, internal)
		})
	}
}

// compareV2 compares the section of a CRD with the documents of its served versions.
func compareV2(
	t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, internal *apiextensions.CustomResourceDefinition,
) {
	t.Helper()
	document, err := forTests.V2()
	if err != nil {
		t.Fatal(err)
	}
	section, err := V2(internal)
	if err != nil {
		t.Fatal(err)
	}
	got, all := plain(t, document.wrap(section)), plain(t, document.bytes())
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		swagger, err := builder.BuildOpenAPIV2(crd.DeepCopy(), v.Name,
			builder.Options{V2: true, IncludeSelectableFields: true})
		if err != nil {
			t.Fatal(err)
		}
		swagger.Definitions = handler.PruneDefaults(swagger.Definitions)
		want := plain(t, swagger)
		compareMembers(t, "paths", want, got)
		compareMembers(t, "parameters", want, all)
		compareMembers(t, "definitions", want, got, all)
	}
}

// compareMembers requires every member of an object of upstream in one of our documents.
func compareMembers(t *testing.T, section string, want map[string]any, got ...map[string]any) {
	t.Helper()
	for name, member := range want[section].(map[string]any) {
		var found any
		for _, document := range got {
			if object, ok := document[section].(map[string]any); ok && found == nil {
				found = object[name]
			}
		}
		if diff := cmp.Diff(member, found); diff != "" {
			t.Errorf("%s %s: -upstream +ours\n%s", section, name, diff)
		}
	}
}
