package server

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// FuzzDefinitionBody writes a CRD and uses its resource.
func FuzzDefinitionBody(f *testing.F) {
	h := newHostile(f)
	other := strings.ReplaceAll(fuzzDefinition, "things.", "others.")
	other = strings.NewReplacer(`"things"`, `"others"`, `"thing"`, `"other"`, `"Thing"`, `"Other"`, `"ThingList"`,
		`"OtherList"`).Replace(other)
	addBodies(f, func(kind byte, body []byte) { f.Add(kind, body) }, other, `{}`,
		`{"spec":{"conversion":{"strategy":"Webhook"}}}`,
		`{"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":{},`+
			`"selectableFields":[{"jsonPath":".spec.x"}]}]}}`,
		`{"spec":{"preserveUnknownFields":true}}`,
		`[{"op":"remove","path":"/spec/versions/0"},{"op":"add","path":"/spec/versions/0/selectableFields",`+
			`"value":[{"jsonPath":".spec.x"}]}]`)
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		is := bodyTypes[int(kind)%len(bodyTypes)]
		path, query := definitionsPath+"/others.fuzz.example.com", ""
		if is.method == "POST" {
			path = definitionsPath
		} else {
			h.send(t, call{method: "POST", path: definitionsPath, body: []byte(other),
				header: map[string]string{"Content-Type": "application/json"}})
		}
		if strings.Contains(is.mediaType, "apply") {
			query = "fieldManager=fuzz&force=true"
		}
		h.send(t, call{method: is.method, path: path, query: query, body: body,
			header: map[string]string{"Content-Type": is.mediaType}})
		h.useDefinitions(t)
	})
}

// useDefinitions reads discovery and OpenAPI, uses all CRDs, and deletes all but the CRD that newHostile has created.
func (h hostile) useDefinitions(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/apis", "/openapi/v2", "/openapi/v3"} {
		h.send(t, call{path: path})
	}
	var list unstructured.UnstructuredList
	if err := list.UnmarshalJSON(h.send(t, call{path: definitionsPath}).Body.Bytes()); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if item := &list.Items[i]; item.GetName() != "things.fuzz.example.com" {
			h.useDefinition(t, item)
			h.remove(t, definitionsPath+"/"+item.GetName())
		}
	}
}

func (h hostile) useDefinition(t *testing.T, definition *unstructured.Unstructured) {
	t.Helper()
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	scope, _, _ := unstructured.NestedString(definition.Object, "spec", "scope")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		name, _, _ := unstructured.NestedString(version.(map[string]any), "name")
		h.send(t, call{path: "/openapi/v3/apis/" + group + "/" + name})
		path := "/apis/" + group + "/" + name + "/"
		if scope == "Namespaced" {
			path += "namespaces/default/"
		}
		path += plural
		object := strings.NewReplacer("fuzz.example.com/v1", group+"/"+name, "Thing", kind).Replace(fuzzObject)
		h.send(t, call{method: "POST", path: path, body: []byte(object),
			header: map[string]string{"Content-Type": "application/json"}})
		h.send(t, call{method: "PATCH", path: path + "/thing", query: "fieldManager=fuzz&force=true", body: []byte(object),
			header: map[string]string{"Content-Type": "application/apply-patch+yaml"}})
		h.send(t, call{path: path, query: "fieldSelector=" + url.QueryEscape("spec.color=green")})
		h.send(t, call{path: path, header: map[string]string{"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}})
		h.remove(t, path+"/thing")
	}
}

// FuzzSchema creates a CRD with a schema and writes an object of it.
func FuzzSchema(f *testing.F) {
	h := newHostile(f)
	for _, schema := range []string{
		`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`,
		`{"type":"object","properties":{"spec":{"type":"string","pattern":"(a+)+$"}}}`,
		`{"type":"object","properties":{"spec":{"type":"string","pattern":"((a{1,1000}){1,1000}){1,1000}"}}}`,
		`{"type":"object","properties":{"spec":{"type":"array","items":{"type":"array","items":{"type":"array",` +
			`"items":{"type":"string"}}},"x-kubernetes-validations":[{"rule":"self.all(a, self.all(b, self.all(c, a == b && b ` +
			`== c)))"}]}}}`,
		`{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"default":{"x":1}}}}}}`,
		`{"properties":{"spec":{"default":{"x":1},"not":{"anyOf":[{"minimum":1}]}}}}`,
		`{"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"type":"string",` +
			`"pattern":"^a"}}},"spec":{"type":"array","uniqueItems":true,"items":{"$ref":"#/x"}}}}`,
		`{"type":"object","properties":{"spec":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},` +
			`{"type":"string"}],"format":"quantity"}}}`,
		`{"type":"object","properties":{"spec":{"type":"object",` +
			`"additionalProperties":{"x-kubernetes-embedded-resource":true,"type":"object"}}}}`,
		`{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-map-type":"atomic",` +
			`"x-kubernetes-validations":[{"rule":"self.x.matches('(a+)+') && optional.of(1).hasValue()",` +
			`"messageExpression":"self.y","fieldPath":".x","reason":"FieldValueForbidden"}],` +
			`"properties":{"x":{"type":"string"},"y":{"type":"integer"}}}}}`,
	} {
		for _, spec := range []string{`{}`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"`, `[1,1]`,
			`{"a":{"apiVersion":"v1"},"x":"y"}`, `1`} {
			f.Add(schema, spec, ".spec")
			f.Add(schema, spec, ".spec.x")
		}
	}
	f.Fuzz(func(t *testing.T, schema, spec, field string) {
		quoted, err := json.Marshal(field)
		if err != nil {
			t.Skip("not a string")
		}
		definition := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"others.fuzz.example.com"},
"spec":{"group":"fuzz.example.com","scope":"Namespaced","names":{"plural":"others","singular":"other","kind":"Other",
"listKind":"OtherList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":%s},
"selectableFields":[{"jsonPath":%s}],"additionalPrinterColumns":[{"name":"A","type":"string","jsonPath":%s}]}]}}`,
			schema, quoted, quoted)
		asJSON := map[string]string{"Content-Type": "application/json"}
		if h.send(t, call{method: "POST", path: definitionsPath, body: []byte(definition),
			header: asJSON}).Code == http.StatusCreated {
			object := fmt.Sprintf(`{"apiVersion":"fuzz.example.com/v1","kind":"Other","metadata":{"name":"thing"},"spec":%s}`,
				spec)
			path := fuzzGroup + "v1/namespaces/default/others"
			h.send(t, call{method: "POST", path: path, body: []byte(object), header: asJSON})
			h.send(t, call{method: "PATCH", path: path + "/thing", body: []byte(`{"spec":{"x":"z"}}`),
				header: map[string]string{"Content-Type": "application/merge-patch+json"}})
		}
		h.useDefinitions(t)
	})
}
