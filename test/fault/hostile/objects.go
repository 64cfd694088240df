package hostile

import (
	"fmt"
	"strings"
)

const (
	group       = "hostile.example.com"
	things      = "/apis/" + group + "/v1/namespaces/default/things"
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

// Media types.
const (
	asYAML       = "application/yaml"
	asMergePatch = "application/merge-patch+json"
	asJSONPatch  = "application/json-patch+json"
	asApply      = "application/apply-patch+yaml"
	asTable      = "application/json;as=Table;v=v1;g=meta.k8s.io"
	asMetadata   = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
)

// fields are the properties of things.
const fields = `
"texts":{"type":"array","items":{"type":"string"}},
"values":{"type":"object","additionalProperties":{"type":"integer"}},
"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
"numbers":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"integer"}},
"map":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"],
 "items":{"type":"object","required":["a"],"properties":{"a":{"type":"integer"},"b":{"type":"string",
 "nullable":true}}}},
"keys":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a","b","c"],
 "items":{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"integer","default":1},
 "c":{"type":"boolean","default":true}}}},
"nothing":{"type":"string","nullable":true},
"defaulted":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string","default":"` +
	`0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"}}}},
"slow":{"type":"string","pattern":"a.{900}b"},
"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true}`

// thing returns an object with more metadata and fields.
func thing(name, metadata, fields string) []byte {
	if metadata != "" {
		metadata = "," + metadata
	}
	return fmt.Appendf(nil, `{"apiVersion":"%s/v1","kind":"Thing","metadata":{"name":"%s"%s},%s}`, group, name, metadata,
		fields)
}

// prepared creates the definition of things, and a small thing.
func prepared() []Request {
	return []Request{
		{Method: "POST", Path: definitions, Body: []byte(
			`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.` + group +
				`"},"spec":{"group":"` + group + `","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},` +
				`"versions":[{"name":"v1","served":true,"storage":true,"selectableFields":[{"jsonPath":".nothing"}],` +
				`"schema":{"openAPIV3Schema":{"type":"object","properties":{` + fields + `}}}}]}}`)},
		{Method: "GET", Path: things, Until: 200},
		{Method: "POST", Path: things, Body: thing("thing", "", `"free":{"a":[1]},"set":["a"]`)},
	}
}

// written returns an input that writes metadata and fields with every verb, reads them and deletes them.
func written(metadata, fields string) *Input {
	const force = "?fieldManager=hostile&force=true"
	update := thing("thing", joinedNotEmpty(`"resourceVersion":"`+VersionPlaceholder+`"`, metadata), fields)
	return requests(prepared(),
		one("apply new", Request{Method: "PATCH", Path: things + "/applied" + force, ContentType: asApply,
			Body: thing("applied", metadata, fields)}),
		one("create", Request{Method: "POST", Path: things, Body: thing("new", metadata, fields)}),
		one("merge patch", Request{Method: "PATCH", Path: things + "/thing", ContentType: asMergePatch,
			Body: thing("thing", metadata, fields)}),
		one("apply", Request{Method: "PATCH", Path: things + "/thing" + force, ContentType: asApply,
			Body: thing("thing", metadata, fields)}),
		one(GetObject, Request{Method: "GET", Path: things + "/thing"}),
		one("update", Request{Method: "PUT", Path: things + "/thing", Body: update}),
		one("apply nothing", Request{Method: "PATCH", Path: things + "/thing" + force, ContentType: asApply,
			Body: thing("thing", "", `"free":{}`)}),
		one("list as table", Request{Method: "GET", Path: things, Accept: asTable}),
		one("delete", Request{Method: "DELETE", Path: things}),
	)
}

// objectShapes are objects whose metadata or fields are expensive.
var objectShapes = []Shape{
	{"nested objects", 1000, 9000, func(d dice, size int) *Input {
		name := strings.Repeat("a", 1+d.IntN(3))
		return written("", `"free":`+strings.Repeat(`{"`+name+`":`, size)+"1"+strings.Repeat("}", size))
	}},
	{"nested arrays", 1000, 9000, func(_ dice, size int) *Input {
		return written("", `"free":{"a":`+strings.Repeat("[", size)+strings.Repeat("]", size)+`}`)
	}},
	{"nested objects with neighbours", 300, 3000, func(_ dice, size int) *Input {
		return written("", `"free":`+strings.Repeat(`{"b":1,"c":[],"a":`, size)+"1"+strings.Repeat("}", size))
	}},
	{"owner references", 500, 20000, func(d dice, size int) *Input {
		different := 1 + d.IntN(size)
		return written(`"ownerReferences":[`+joined(d.order(size), func(n int) string {
			return fmt.Sprintf(`{"apiVersion":"v1","kind":"K","name":"n","uid":"u%d"}`, n%different)
		})+`]`, `"free":{}`)
	}},
	{"finalizers", 1000, 50000, func(d dice, size int) *Input {
		i := written(`"finalizers":[`+joined(d.order(size), func(n int) string {
			return fmt.Sprintf(`"example.com/f%d"`, n)
		})+`]`, `"free":{}`)
		finish := Phase{Name: "remove finalizers"}
		for _, name := range []string{"applied", "new", "thing"} {
			finish.Requests = append(finish.Requests, Request{Method: "PATCH", Path: things + "/" + name,
				ContentType: asMergePatch, Body: []byte(`{"metadata":{"finalizers":null}}`)})
		}
		i.Phases = append(i.Phases, finish)
		return i
	}},
	{"managers", 500, 10000, func(d dice, size int) *Input {
		operation := pick(d, "Update", "Apply")
		return written(`"managedFields":[`+joined(d.order(size), func(n int) string {
			return fmt.Sprintf(`{"manager":"m%d","operation":"%s","apiVersion":"%s/v1","fieldsType":"FieldsV1",`+
				`"fieldsV1":{"f:free":{"f:a%d":{}}}}`, n, operation, group, n)
		})+`]`, `"free":{}`)
	}},
	{"managed fields", 1000, 100000, func(d dice, size int) *Input {
		return written(`"managedFields":[{"manager":"m","operation":"Update","apiVersion":"`+group+
			`/v1","fieldsType":"FieldsV1","fieldsV1":{"f:free":{`+joined(d.order(size), func(n int) string {
			return fmt.Sprintf(`"v:-%d":{}`, n)
		})+`}}}]`, `"free":{}`)
	}},
	{"managed fields, nested", 1000, 9000, func(_ dice, size int) *Input {
		return written(`"managedFields":[{"manager":"m","operation":"Update","apiVersion":"`+group+
			`/v1","fieldsType":"FieldsV1","fieldsV1":`+strings.Repeat(`{"f:a":`, size)+"{}"+strings.Repeat("}", size)+`}]`,
			`"free":{}`)
	}},
	{"labels", 1000, 100000, func(d dice, size int) *Input {
		key := pick(d, `"l%d":"v"`, `"l%d.example.com/name":"v"`, `"-%d":"-"`)
		return written(`"labels":{`+joined(d.order(size), func(n int) string { return fmt.Sprintf(key, n) })+`}`, `"free":{}`)
	}},
	{"annotations", 1000, 100000, func(d dice, size int) *Input {
		key := pick(d, `"a%d":""`, `"A%d/name":"v"`, `"-%d":"-"`)
		return written(`"annotations":{`+joined(d.order(size), func(n int) string {
			return fmt.Sprintf(key, n)
		})+`}`, `"free":{}`)
	}},
	{"pattern with 900 states", 16 << 10, 1 << 20, func(_ dice, size int) *Input {
		return written("", `"slow":"`+strings.Repeat("a", size)+`"`)
	}},
	{"unknown fields", 1000, 100000, func(d dice, size int) *Input {
		different := 1 + d.IntN(size)
		return written("", joined(d.order(size), func(n int) string { return fmt.Sprintf(`"f%d":1`, n%different) }))
	}},
	{"values of a wrong type", 2000, 100000, func(d dice, size int) *Input {
		value := pick(d, "1", "{}", "null", "[]")
		return written("", `"texts":[`+joined(d.order(size), func(int) string { return value })+`]`)
	}},
	{"empty items with a default", 2000, 500000, func(_ dice, size int) *Input {
		return written("", `"defaulted":[`+strings.TrimSuffix(strings.Repeat("{},", size), ",")+`]`)
	}},
}

// joined joins the texts of numbers by commas.
func joined(numbers []int, text func(n int) string) string {
	var b strings.Builder
	for i, n := range numbers {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(text(n))
	}
	return b.String()
}

// joinedNotEmpty joins the texts that are not empty by commas.
func joinedNotEmpty(texts ...string) string {
	var kept []string
	for _, text := range texts {
		if text != "" {
			kept = append(kept, text)
		}
	}
	return strings.Join(kept, ",")
}

// pick returns one of the choices.
func pick[T any](d dice, choices ...T) T { return choices[d.IntN(len(choices))] }
