package documentpatch

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"

	"github.com/crd-server/crd-server/internal/objectjson"
)

// FuzzMergedMembers compares patches of the members that a patch names with patches of the whole document.
func FuzzMergedMembers(f *testing.F) {
	for _, patch := range []string{
		`{"spec":{"replicas":2}}`, `{"status":{"phase":"a"},"metadata":null}`,
		`{"metadata":{"labels":{"shard":null,"a":"<b>"}}}`, `{"spec":{"parts":[{"a":null},null]}}`,
		`{"spec":7}`, `{"new":{"a":null,"b":1}}`, `{}`, `null`, `[]`, `[1]`, `"a"`, `{"a":1,"a":{"b":2}}`, `{"kind":"a"}`,
		`{"Kind":"a","apiVersion":null}`,
		`{"b":{"b":{"c":null,"d":{"e":null}},"x":{"y":null}}}`, `{"b":[{"c":null}]}`,
		`{"n":[{"c":null}],"a":[{"c":null}],"z":[{"c":null}]}`, `{"b":{"b":{}},"spec":{}}`,
		`{"b":-0,"c":1e3,"d":12345678901234567890}`, "{\"\xff\":\"\xff\"}", `{"b":{"b":{}},"n":{}}`, ` {"b" : 1 } `,
		`{"b":1}}`,
	} {
		f.Add([]byte(`{"apiVersion":"example.com/v1","kind":"Machine","metadata":{"name":"m","labels":{"shard":"s"}},`+
			`"spec":{"replicas":1,"parts":[{"name":"a"}]}}`), []byte(patch))
		f.Add([]byte(`{"a":null,"b":{"b":{"c":[1,2.5,1e21,-0,12345678901234567890,"\u2028"]}},"kind":"K","n":[]}`),
			[]byte(patch))
	}
	f.Fuzz(func(t *testing.T, document, body []byte) {
		live := map[string]any{}
		if utiljson.Unmarshal(document, &live) != nil || live == nil {
			return
		}
		before, err := objectjson.Marshal(live) // as it is stored
		if err != nil {
			t.Fatal(err)
		}
		live = nil
		if err := utiljson.Unmarshal(before, &live); err != nil {
			t.Fatal(err)
		}
		got, ok := MergedMembers(t.Context(), live, body)
		if !ok {
			return
		}
		after, found, err := Patch{Type: types.MergePatchType, Body: body, Strict: true}.Apply(t.Context(), before)
		if err != nil || len(found) > 0 {
			t.Fatalf("%q: got %v, should have been refused: %v %v", body, got, found, err)
		}
		want := map[string]any{}
		if found, err = kjson.UnmarshalStrict(after, &want); err != nil || len(found) > 0 {
			t.Fatalf("%q: got %v, should have been refused: %v %v", body, got, found, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %#v, want %#v", body, got, want)
		}
		if again, err := objectjson.Marshal(live); err != nil || string(again) != string(before) {
			t.Fatalf("%q changed the object to %s", body, again)
		}
	})
}
