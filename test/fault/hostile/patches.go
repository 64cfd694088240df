package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
)

// patchShapes are patches and encodings that are more than they seem.
var patchShapes = []Shape{
	{"operations", 500, 10000, func(d dice, size int) *Input {
		operation := pick(d, `{"op":"add","path":"/free/l/0","value":1}`, `{"op":"add","path":"/free/l/-","value":1}`,
			`{"op":"test","path":"/free/l","value":[]}`, `{"op":"replace","path":"/free/l","value":[[[[1]]]]}`)
		return patched(`{"op":"add","path":"/free/l","value":[` + repeated("1", size) + `]},` + repeated(operation, size))
	}},
	{"copies of copies", 20, 60, func(_ dice, size int) *Input {
		return patched(joined(numbers(size), func(n int) string {
			return fmt.Sprintf(`{"op":"copy","from":"/free","path":"/free/c%d"}`, n)
		}))
	}},
	{"copies of a large value", 100, 9000, func(d dice, size int) *Input {
		return patched(`{"op":"add","path":"/free/l","value":"` + strings.Repeat("x", size*pick(d, 1, 10, 100)) + `"},` +
			joined(numbers(size), func(n int) string {
				return fmt.Sprintf(`{"op":"copy","from":"/free/l","path":"/free/c%d"}`, n)
			}))
	}},
	{"operations on deep paths", 100, 3000, func(_ dice, size int) *Input {
		deep := strings.Repeat("/a", size)
		return patched(`{"op":"add","path":"/free/a","value":` + strings.Repeat(`{"a":`, size) + "1" +
			strings.Repeat("}", size) + `},` + repeated(`{"op":"replace","path":"/free`+deep+`","value":1}`, min(size, 400)))
	}},
	{"merge patch", 1000, 100000, func(d dice, size int) *Input {
		fill, empty := d.order(size), d.order(size)
		patch := func(value string, order []int) []byte {
			return []byte(`{"free":{` + joined(order, func(n int) string { return fmt.Sprintf(`"f%d":%s`, n, value) }) + `}}`)
		}
		return requests(prepared(),
			one("merge patch", Request{Method: "PATCH", Path: things + "/thing", ContentType: asMergePatch,
				Body: patch("1", fill)}),
			one("merge patch of nulls", Request{Method: "PATCH", Path: things + "/thing", ContentType: asMergePatch,
				Body: patch("null", empty)}),
		)
	}},
	{"aliases", 5, 9, func(d dice, size int) *Input {
		var text strings.Builder
		width := pick(d, 4, 10, 30)
		fmt.Fprintf(&text, "a0: &a0 [%s]\n", repeated("x", width))
		for n := 1; n <= size; n++ {
			fmt.Fprintf(&text, "a%d: &a%d [%s]\n", n, n, repeated(fmt.Sprintf("*a%d", n-1), width))
		}
		return inYAML(text.String())
	}},
	{"many aliases", 1000, 50000, func(d dice, size int) *Input {
		width := 1 + d.IntN(100)
		return inYAML("a: &a [" + repeated("x", width) + "]\nfree: {l: [" + repeated("*a", size) + "]}\n")
	}},
	{"nested YAML", 1000, 9000, func(d dice, size int) *Input {
		if d.IntN(2) == 0 {
			return inYAML("free: {a: " + strings.Repeat("[", size) + strings.Repeat("]", size) + "}\n")
		}
		return inYAML("free:\n  a:\n    " + strings.Repeat("- ", size) + "x\n")
	}},
	{"merge keys", 100, 3000, func(_ dice, size int) *Input {
		var text strings.Builder
		text.WriteString("m0: &m0 {f0: 1}\n")
		for n := 1; n <= size; n++ {
			fmt.Fprintf(&text, "m%d: &m%d {<<: *m%d, f%d: 1}\n", n, n, n-1, n)
		}
		return inYAML(text.String())
	}},
	{"compressed body", 10, 500, func(_ dice, size int) *Input {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		spaces := bytes.Repeat([]byte(" "), 1<<20)
		for range size {
			_, _ = w.Write(spaces) // a buffer accepts everything
		}
		_, _ = w.Write(thing("new", "", `"free":{}`))
		_ = w.Close()
		return requests(prepared(),
			one("create", Request{Method: "POST", Path: things, Encoding: "gzip", Body: packed.Bytes()}))
	}},
	{"invalid JSON", 100 << 10, 3_000_000, func(d dice, size int) *Input {
		part := pick(d, "[", `{"a":`, `"\u`, "1e", `{"a":1,`, "\\", "\xff", "\x00")
		body := []byte(`{"free":` + strings.Repeat(part, size/len(part)))
		return requests(prepared(), one("create", Request{Method: "POST", Path: things, Body: body}),
			one("merge patch", Request{Method: "PATCH", Path: things + "/thing", ContentType: asMergePatch, Body: body}),
			one("apply", Request{Method: "PATCH", Path: things + "/thing?fieldManager=hostile", ContentType: asApply,
				Body: body}))
	}},
}

// patched returns an input that sends a JSON patch.
func patched(operations string) *Input {
	return requests(prepared(), one("JSON patch",
		Request{Method: "PATCH", Path: things + "/thing", ContentType: asJSONPatch,
			Body: []byte("[" + operations + "]")}))
}

// inYAML returns an input that creates and applies an object of fields in YAML.
func inYAML(fields string) *Input {
	head := "apiVersion: " + group + "/v1\nkind: Thing\nmetadata: {name: "
	return requests(prepared(),
		one("create", Request{Method: "POST", Path: things, ContentType: asYAML, Body: []byte(head + "new}\n" + fields)}),
		one("apply", Request{Method: "PATCH", Path: things + "/thing?fieldManager=hostile&force=true", ContentType: asApply,
			Body: []byte(head + "thing}\n" + fields)}),
		one(GetObject, Request{Method: "GET", Path: things + "/new"}),
		one(ListAsYAML, Request{Method: "GET", Path: things, Accept: asYAML}))
}

// repeated returns a text n times, joined by commas.
func repeated(text string, n int) string {
	return strings.TrimSuffix(strings.Repeat(text+",", n), ",")
}

// numbers returns the numbers below n.
func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
