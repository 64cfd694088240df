package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// hostileBytes is the limit for the memory that is allocated while a hostile request is handled. Allocations are
// counted for the whole process, so the limit allows for all requests of a test that run at the same time. A request
// whose work is quadratic in its size allocates many times as much.
const hostileBytes = 16 << 30

// TestHostileDefinitionsAreBounded checks that the work for expensive CRDs, and for an object of each accepted CRD, is
// bounded.
func TestHostileDefinitionsAreBounded(t *testing.T) {
	handler, _ := assembled(t)
	const levels = 1000
	nested := func(before, after string, levels int) string {
		return strings.Repeat(before, levels) + `{"type":"string"}` + strings.Repeat(after, levels)
	}
	rule := func(expression string) string { return fmt.Sprintf(`{"rule":%q}`, expression) }
	lists := `"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"string"}}}`
	each := func(format string, n int) string {
		items := make([]string, n)
		for i := range items {
			items[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
		}
		return strings.Join(items, ",")
	}
	for n, test := range []struct {
		name string
		// field is the schema of the field, value the JSON of the field in an object.
		field, value string
		// more is JSON that is added to the version.
		more string
		// want is the expected status of the creation of the object, or of the CRD if it is refused; 0 allows any.
		want int
	}{
		{"a pattern that repeats repetitions", `{"type":"string","pattern":"((a{1,100}){1,10}){1,10}$"}`,
			`"` + strings.Repeat("a", 2000) + `b"`, "", 0},
		{"a pattern that is exponential with backtracking", `{"type":"string","pattern":"^(a+)+$"}`,
			`"` + strings.Repeat("a", 200000) + `b"`, "", http.StatusUnprocessableEntity},
		{"a pattern that is too large", `{"type":"string","pattern":"((a{1,1000}){1,1000}){1,1000}"}`, `"a"`, "", 0},
		{"a deep pattern", `{"type":"string","pattern":"` + strings.Repeat("(", 20000) + strings.Repeat(")", 20000) + `"}`,
			`"a"`, "", 0},
		{"many patterns", `{"type":"object","properties":{` +
			each(`"p#":{"type":"string","pattern":"^[a-z]{1,63}(#|[0-9]{1,20})*$"}`, 5000) + `}}`,
			`{` + each(`"p#":"abc#"`, 5000) + `}`, "", 0},
		{"deep objects", nested(`{"type":"object","properties":{"a":`, `}}`, levels),
			strings.Repeat(`{"a":`, levels) + `"x"` + strings.Repeat("}", levels), "", 0},
		{"deep lists", nested(`{"type":"array","items":`, `}`, levels),
			strings.Repeat("[", levels) + strings.Repeat("]", levels), "", 0},
		{"deep alternatives", `{"type":"string","anyOf":[` + strings.Repeat(`{"anyOf":[`, 1000) + `{"minLength":1}` +
			strings.Repeat(`]}`, 1000) + `]}`, `"a"`, "", 0},
		{"alternatives of alternatives", `{"type":"string","allOf":[` + alternatives(12) + `]}`, `"a"`, "", 0},
		{"a huge enumeration", `{"type":"string","enum":[` + each(`"e#"`, 50000) + `]}`, `"no"`, "", 0},
		{"a huge enumeration of objects",
			`{"type":"object","x-kubernetes-preserve-unknown-fields":true,"enum":[` + each(`{"e":#}`, 20000) + `]}`, `{"e":-1}`,
			"", 0},
		{"rules over the cost limit", `{` + lists + `,"x-kubernetes-validations":[` +
			rule("self.all(a, self.all(b, a.all(c, b.all(d, c == d))))") + `]}`, `[]`, "", http.StatusUnprocessableEntity},
		{"many rules", `{"type":"integer","x-kubernetes-validations":[` + each(rule("self != #"), 1000) + `]}`, `-1`, "", 0},
		{"a long rule", `{"type":"integer","x-kubernetes-validations":[` + rule(strings.Repeat("self > 0 && ", 5000)+"true") +
			`]}`, `1`, "", 0},
		{"a deep rule", `{"type":"integer","x-kubernetes-validations":[` +
			rule(strings.Repeat("(", 5000)+"self"+strings.Repeat(")", 5000)+" > 0") + `]}`, `1`, "", 0},
		{"a rule with a pattern", `{"type":"string","maxLength":100000,"x-kubernetes-validations":[` +
			rule("self.matches('((a{1,100}){1,10}){1,10}$')") + `]}`,
			`"` + strings.Repeat("a", 2000) + `b"`, "", 0},
		{"a rule that builds large lists",
			`{"type":"string","maxLength":1000,"x-kubernetes-validations":[` +
				rule(`[1,2,3,4,5,6,7,8].map(a, [1,2,3,4,5,6,7,8].map(b, self + self)).size() > 0`) + `]}`, `"a"`, "", 0},
		{"a huge default", `{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer","default":1}}},` +
			`"default":[` +
			each(`{}`, 50000) + `]}`, `[]`, "", 0},
		{"defaults in each item", `{"type":"array","items":{"type":"object","properties":{"a":{"type":"string","default":"` +
			strings.Repeat("x", 1000) + `"}}}}`, `[` + each(`{}`, 1000) + `]`, "", 0},
		{"many columns", `{"type":"string"}`, `"a"`,
			`,"additionalPrinterColumns":[` + each(`{"name":"c#","type":"string","jsonPath":".spec.field"}`, 5000) + `]`, 0},
		{"a column of everything", `{"type":"array","items":{"type":"string"}}`, `[` + each(`"a"`, 50000) + `]`,
			`,"additionalPrinterColumns":[{"name":"c","type":"string","jsonPath":"..*"}]`, 0},
		{"a filter in a column", `{"type":"array","items":{"type":"string"}}`, `[` + each(`"a"`, 1000) + `]`,
			`,"additionalPrinterColumns":[{"name":"c","type":"string","jsonPath":".spec.field[?(@=='` +
				strings.Repeat("a", 10000) + `')]"}]`, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			group := fmt.Sprintf("hostile%d.example.com", n)
			definition := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",` +
				`"metadata":{"name":"things.` +
				group + `"},
"spec":{"group":"` + group + `","scope":"Cluster","names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1",
"served":true,"storage":true` + test.more + `,
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"field":` +
				test.field + `}}}}}}]}}`
			code := sendHostile(t, handler, "POST", definitionsPath, definition)
			if code == http.StatusCreated {
				path := "/apis/" + group + "/v1/things"
				code = sendHostile(t, handler, "POST", path,
					`{"apiVersion":"`+group+`/v1","kind":"Thing","metadata":{"name":"thing"},"spec":{"field":`+test.value+`}}`)
				if code == http.StatusCreated {
					sendHostile(t, handler, "GET", path, "")
					sendHostile(t, handler, "DELETE", path+"/thing", "")
				}
				sendHostile(t, handler, "DELETE", definitionsPath+"/things."+group, "")
			}
			if test.want != 0 && code != test.want {
				t.Errorf("status %d, want %d", code, test.want)
			}
		})
	}
}

// alternatives returns a schema with two alternatives, each of which has two alternatives itself, and so on.
func alternatives(levels int) string {
	if levels == 0 {
		return `{"minLength":1}`
	}
	deeper := alternatives(levels - 1)
	return `{"anyOf":[` + deeper + `,` + deeper + `]}`
}

// sendHostile sends a request and checks that its work is bounded. It requests lists as tables.
func sendHostile(t *testing.T, handler http.Handler, method, path, body string) int {
	t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body)).WithContext(asOwnRequest(t.Context()))
	req.Header.Set("Content-Type", "application/json")
	if method == "GET" {
		req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	}
	w := httptest.NewRecorder()
	before := allocated()
	handler.ServeHTTP(w, req)
	bytes := allocated() - before
	if bytes > hostileBytes {
		t.Errorf("%s %s: %d MiB were allocated", method, path, bytes>>20)
	}
	if w.Code == http.StatusInternalServerError {
		t.Errorf("%s %s: %d %.300s", method, path, w.Code, w.Body)
	}
	t.Logf("%s of %d bytes: %d with %d bytes, %d MiB allocated: %.150s", method, len(body), w.Code, w.Body.Len(),
		bytes>>20, w.Body)
	return w.Code
}

// allocated returns the number of bytes that this process has allocated so far.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}
