package hostile

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
)

// readShapes are reads with expensive parameters. What a client sends is in the path or the header, which both servers
// limit to about a megabyte.
var readShapes = []Shape{
	{"label selector", 500, 20000, func(d dice, size int) *Input {
		term := pick(d, "l%d", "!l%d", "l%d=v", "l%d!=v", "l%d in (a,b)", "l%d notin (a,b)", "l%d>1")
		return selected("labelSelector", joined(d.order(size), func(n int) string { return fmt.Sprintf(term, n) }))
	}},
	{"label selector with many values", 1000, 50000, func(d dice, size int) *Input {
		return selected("labelSelector", "l "+pick(d, "in", "notin")+" ("+joined(d.order(size), func(n int) string {
			return fmt.Sprintf("v%d", n)
		})+")")
	}},
	{"field selector", 500, 20000, func(d dice, size int) *Input {
		field, operator := pick(d, "metadata.name", "nothing", "spec.other"), pick(d, "=", "!=")
		return selected("fieldSelector", joined(d.order(size), func(n int) string {
			return fmt.Sprintf("%s%sv%d", field, operator, n)
		}))
	}},
	{"continue token", 2000, 500000, func(d dice, size int) *Input {
		key := pick(d, strings.Repeat("a", size), strings.Repeat("../", size/3), strings.Repeat(`\u0000`, size/6))
		token := `{"v":"meta.k8s.io/v1","rv":` + pick(d, "-1", "1", "9223372036854775807") + `,"start":"` + key + `"}`
		return selected("continue", base64.RawURLEncoding.EncodeToString([]byte(token)))
	}},
	{"parameters", 500, 20000, func(d dice, size int) *Input {
		name := pick(d, "a%d=1", "labelSelector=a%d", "fieldSelector=metadata.name%%3Da%d")
		return requests(prepared(), one("list", Request{Method: "GET", Path: things + "?" +
			strings.ReplaceAll(joined(d.order(size), func(n int) string { return fmt.Sprintf(name, n) }), ",", "&")}))
	}},
	{"accept", 500, 20000, func(d dice, size int) *Input {
		clause := pick(d, "application/x%d;q=0.%d", "application/json;as=T%d;v=v%d;g=g", "a/b;p%d=%d")
		accept := joined(d.order(size), func(n int) string { return fmt.Sprintf(clause, n, n) })
		phases := []Phase{}
		for _, path := range []string{things, things + "/thing", "/apis", "/openapi/v2", "/openapi/v3"} {
			phases = append(phases, one("get "+path, Request{Method: "GET", Path: path, Accept: accept + ",*/*;q=0.1"}))
		}
		return requests(prepared(), phases...)
	}},
	{"long path", 2000, 500000, func(d dice, size int) *Input {
		part := pick(d, "/a", "/..", "//", "/%2F", "a")
		return requests(prepared(), one("get", Request{Method: "GET",
			Path: "/apis/" + group + "/v1" + strings.Repeat(part, size/len(part))}))
	}},
	{"lists as tables", 200, 2000, func(_ dice, size int) *Input {
		prepare := prepared()
		for n := range size {
			prepare = append(prepare, Request{Method: "POST", Path: things,
				Body: thing(fmt.Sprintf("thing-%d", n), "", `"free":{"a":"`+strings.Repeat("x", 1000)+`"}`)})
		}
		lists := requests(prepare, one("table", Request{Method: "GET", Path: things, Accept: asTable}),
			one("table of objects", Request{Method: "GET", Path: things + "?includeObject=Object", Accept: asTable}),
			one("metadata", Request{Method: "GET", Path: things, Accept: asMetadata}),
			one("YAML", Request{Method: "GET", Path: things, Accept: asYAML}),
			one("page", Request{Method: "GET", Path: things + "?limit=1"}),
			one("delete", Request{Method: "DELETE", Path: things}))
		lists.Stored = 1000 * int64(size)
		lists.Budget += requestFactor * lists.Stored
		return lists
	}},
	{"namespaces", 500, 100000, func(_ dice, size int) *Input {
		create := Phase{Name: "create", Clients: 16}
		var bytes int64
		for n := range size {
			path := fmt.Sprintf("/apis/%s/v1/namespaces/n%d/things", group, n)
			create.Requests = append(create.Requests, Request{Method: "POST", Path: path, Body: thing("thing", "", `"free":{}`)})
			bytes += create.Requests[n].Size()
		}
		const all = "/apis/" + group + "/v1/things"
		i := requests(prepared(), create, one("list", Request{Method: "GET", Path: all}),
			one("select", Request{Method: "GET", Path: all + "?labelSelector=a&fieldSelector=metadata.namespace%3Dn1"}),
			one("page", Request{Method: "GET", Path: all + "?limit=1"}),
			Phase{Name: "list each of 1000", Clients: 16, Requests: lists(min(size, 1000))})
		i.Budget = floor + requestFactor*bytes
		return i
	}},
}

// selected returns an input that lists, watches and deletes the objects of a selector, or continues a list.
func selected(parameter, value string) *Input {
	query := "?" + parameter + "=" + url.QueryEscape(value)
	return requests(prepared(), one("list", Request{Method: "GET", Path: things + query}),
		one("list of an old state", Request{Method: "GET", Path: things + query + "&resourceVersion=0"}),
		one("watch", Request{Method: "GET", Path: things + query + "&watch=true&timeoutSeconds=1"}),
		one("delete", Request{Method: "DELETE", Path: things + query}))
}

// lists returns requests for the objects of namespaces.
func lists(size int) (all []Request) {
	for n := range size {
		all = append(all, Request{Method: "GET", Path: fmt.Sprintf("/apis/%s/v1/namespaces/n%d/things", group, n)})
	}
	return all
}
