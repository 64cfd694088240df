package objectjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// FuzzMarshal compares Marshal with encoding/json, for decoded JSON and for strings that JSON cannot contain.
func FuzzMarshal(f *testing.F) {
	for _, seed := range []struct{ document, text string }{
		{machine, "plain"},
		{`{"metadata":{"uid":"u","resourceVersion":"1","selfLink":"/","zone":1,"name":"n"},"spec":{"a":[],"b":{},"c":[null,` +
			`true,false]}}`, "\"quoted\"\\"},
		{`{"metadata":{"name":"n","resource":"a"},"a":1.5,"b":1e-7,"c":1e21,"d":-0.0,"e":123456789012345678901234567890}`,
			"<a>&"},
		{`{"metadata":{},"ü":"日本\u2028","f:parts":{"k:{\"name\":\"part-1\"}":{".":{}}}}`,
			"\u2028\u2029 \xff\xfe\t\r\n\b\f\x00\x7f"},
		{`[{"metadata":1},[[[-9223372036854775808]]],"",""]`, ""},
		{`{"metadata":{"uid":"u"},"":{"":""}}`, "{"},
	} {
		f.Add([]byte(seed.document), seed.text)
	}
	f.Fuzz(func(t *testing.T, document []byte, text string) {
		var value any
		if err := utiljson.Unmarshal(document, &value); err != nil {
			return
		}
		sameAsLibrary(t, value)
		sameAsLibrary(t, map[string]any{text: text, "value": []any{value, text}, "other" + text: value})
		if obj, ok := value.(map[string]any); ok {
			splicesAsLibrary(t, obj)
		}
	})
}

func sameAsLibrary(t *testing.T, value any) {
	t.Helper()
	want, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Marshal(value); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("got %s %v, want %s", got, err, want)
	}
}

// splicesAsLibrary inserts a resourceVersion into an encoded object and compares with the library.
func splicesAsLibrary(t *testing.T, obj map[string]any) {
	t.Helper()
	value, at, err := MarshalObject(obj)
	members, ok := obj["metadata"].(map[string]any)
	members = maps.Clone(members)
	delete(members, "selfLink")
	delete(members, "resourceVersion")
	if !ok || len(members) == 0 {
		if !errors.Is(err, ErrNoMetadata) {
			t.Fatalf("got %s %v, want no metadata", value, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	bare := maps.Clone(obj)
	bare["metadata"] = members
	want, err := json.Marshal(bare)
	if err != nil || string(value) != string(want)+"\n" {
		t.Fatalf("got %s, want %s %v", value, want, err)
	}
	served := slices.Insert(slices.Clone(value), at, []byte(`"resourceVersion":"7",`)...)
	if _, ok := members["uid"]; !ok { // then the resourceVersion is the first member
		var again struct {
			Metadata struct {
				ResourceVersion string `json:"resourceVersion"`
			} `json:"metadata"`
		}
		if err := utiljson.Unmarshal(served, &again); err != nil || again.Metadata.ResourceVersion != "7" ||
			value[at-1] != '{' {
			t.Fatalf("got %s: %v", served, err)
		}
		return
	}
	members["resourceVersion"] = "7"
	if want, err = json.Marshal(bare); err != nil || string(served) != string(want)+"\n" {
		t.Fatalf("got %s, want %s %v", served, want, err)
	}
}

// TestMarshalOtherTypes checks that the library encodes values of all other types, and that Marshal returns its errors.
func TestMarshalOtherTypes(t *testing.T) {
	t.Parallel()
	sameAsLibrary(t, map[string]any{
		"int": 1, "uint8": uint8(2), "float32": float32(0.1), "number": json.Number("1e5"),
		"strings": []string{"<", "a"},
		"object":  map[string]string{"b": "1", "a": "2"}, "none": map[string]any(nil), "nothing": []any(nil),
		"raw": json.RawMessage(` {"a" : "<"} `),
	})
	for _, value := range []any{math.NaN(), map[string]any{"a": []any{math.Inf(1)}}, make(chan int)} {
		if text, err := Marshal(value); err == nil {
			t.Errorf("got %s for %v", text, value)
		}
	}
	sameAsLibrary(t, map[string]any{"a": "after an error"})
}

// machine is a custom resource as clients send it.
const machine = `{"apiVersion":"example.com/v1","kind":"Machine","metadata":{"name":"m","namespace":"ns",` +
	`"labels":{"app.kubernetes.io/name":"machine","shard":"s1"}},"spec":{"replicas":1,"maxReplicas":1000000000,"parts":[` +
	`{"name":"part-0","image":"registry.example.com/team/part-0:1.1","port":8080},` +
	`{"name":"part-1","image":"registry.example.com/team/part-1:1.1","port":8081}]}}`
