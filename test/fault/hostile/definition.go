package hostile

import (
	"fmt"
	"slices"
	"strings"
)

// definition is a CustomResourceDefinition. It is named like its resource, which is cluster-scoped.
type definition struct {
	plural string
	// names is further JSON of the names.
	names string
	// versions are JSON of the versions, without names; the first is the storage version.
	versions []string
	// fields is JSON of the fields of an object.
	fields string
}

// used is the number of versions that an input uses.
const used = 200

func (c *definition) body() []byte {
	versions := make([]string, len(c.versions))
	for n, more := range c.versions {
		versions[n] = fmt.Sprintf(`{"name":"v%d","served":true,"storage":%t,%s}`, n+1, n == 0, more)
	}
	return fmt.Appendf(nil, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",`+
		`"metadata":{"name":"%s.%s"},"spec":{"group":"%s","scope":"Cluster",`+
		`"names":{"plural":"%s","kind":"K%s"%s},"versions":[%s]}}`,
		c.plural, group, group, c.plural, c.plural, c.names, strings.Join(versions, ","))
}

func (c *definition) object(name string, version int) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"%s/v%d","kind":"K%s","metadata":{"name":"%s"},%s}`, group, version, c.plural,
		name, c.fields)
}

// path is the path of the objects in a version.
func (c *definition) path(version int) string {
	return fmt.Sprintf("/apis/%s/v%d/%s", group, version, c.plural)
}

// input returns an input that creates the definition, reads everything that depends on it, writes and reads objects
// in its versions, and deletes it.
func (c *definition) input() *Input {
	create := Request{Method: "POST", Path: definitions, Body: c.body()}
	at := definitions + "/" + c.plural + "." + group
	i := requests(nil,
		Phase{Name: "create", Requests: []Request{create}, Essential: true},
		Phase{Name: "definition", Requests: []Request{
			{Method: "GET", Path: at}, {Method: "GET", Path: definitions, Accept: asTable},
			{Method: "GET", Path: c.path(1), Until: 200}}},
		Phase{Name: "discovery", Requests: c.discovery()},
		one("OpenAPI v2", Request{Method: "GET", Path: "/openapi/v2"}),
		Phase{Name: "OpenAPI v3", Requests: c.eachVersion("/openapi/v3/apis/"+group+"/v%d", "")},
		one("object", Request{Method: "POST", Path: c.path(1), Body: c.object("first", 1)}),
		one("apply", Request{Method: "PATCH", Path: c.path(1) + "/second?fieldManager=hostile", ContentType: asApply,
			Body: c.object("second", 1)}),
		one("table", Request{Method: "GET", Path: c.path(1), Accept: asTable}),
		Phase{Name: "tables", Clients: 4, Requests: c.eachVersion("/apis/"+group+"/v%d/"+c.plural, asTable)},
		Phase{Name: "create objects", Clients: 4, Requests: c.objects()},
		Phase{Name: "get objects", Clients: 4, Requests: c.eachVersion("/apis/"+group+"/v%d/"+c.plural+"/first", "")},
		Phase{Name: "change", Requests: []Request{{Method: "PATCH", Path: at, ContentType: asMergePatch,
			Body: []byte(`{"metadata":{"labels":{"a":"b"}},"spec":{"names":{"singular":"single"}}}`)}}},
		Phase{Name: "delete", Requests: []Request{{Method: "DELETE", Path: at}, {Method: "GET", Path: at, Until: 404}}},
	)
	i.Budget = floor + definitionFactor*create.Size()
	return i
}

// discovery returns requests for what clients find out about the definition.
func (c *definition) discovery() []Request {
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	all := []Request{{Method: "GET", Path: "/apis"}, {Method: "GET", Path: "/apis", Accept: aggregated},
		{Method: "GET", Path: "/apis/" + group}, {Method: "GET", Path: "/openapi/v3"}}
	return append(all, c.eachVersion("/apis/"+group+"/v%d", "")...)
}

// eachVersion returns a request for each version that is used. The format makes a path of a version.
func (c *definition) eachVersion(format, accept string) (all []Request) {
	for n := range c.someVersions() {
		all = append(all, Request{Method: "GET", Path: fmt.Sprintf(format, n), Accept: accept})
	}
	return all
}

// objects returns requests that create an object in each version that is used.
func (c *definition) objects() (all []Request) {
	for n := range c.someVersions() {
		all = append(all, Request{Method: "POST", Path: c.path(n), Body: c.object(fmt.Sprintf("object-%d", n), n)})
	}
	return all
}

// someVersions yields the numbers of the versions that are used.
func (c *definition) someVersions() func(yield func(int) bool) {
	step := max(1, len(c.versions)/used)
	return func(yield func(int) bool) {
		for n := 1; n <= len(c.versions) && yield(n); n += step {
		}
	}
}

// schema is JSON of a schema with properties.
func schema(properties string) string {
	return `"schema":{"openAPIV3Schema":{"type":"object","properties":{` + properties + `}}}`
}

// preserving is a schema that allows everything in a field.
var preserving = schema(`"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true}`)

// same returns a text n times.
func same(text string, n int) []string {
	return slices.Repeat([]string{text}, n)
}

// versioned returns a definition with versions, for objects with a free field.
func versioned(versions []string) *definition {
	return &definition{plural: "widgets", versions: versions, fields: `"free":{"a":1}`}
}
