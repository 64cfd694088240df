package managedfields

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// TestReadSet checks that readSet reads a set like the library, in any order of its elements in JSON, and that writeSet
// restores it.
func TestReadSet(t *testing.T) {
	t.Parallel()
	for name, element := range map[string]string{
		"values": "v:-%d", "keys": `k:{"name":-%d}`, "indexes": "i:%d", "names": "f:a%d", "texts": `v:"a%d"`,
	} {
		t.Run(name, func(t *testing.T) {
			list := map[string]any{}
			for i := range 2000 {
				list[fmt.Sprintf(element, i+1)] = map[string]any{}
			}
			fields := map[string]any{"f:spec": map[string]any{"f:list": list, ".": map[string]any{}}}
			text, err := utiljson.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			var want fieldpath.Set
			if err := want.FromJSON(bytes.NewReader(text)); err != nil {
				t.Fatal(err)
			}
			got, ok := readSet(fields)
			if !ok || !got.Equals(&want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			written, err := writeSet(got)
			if err != nil || !reflect.DeepEqual(written, fields) {
				t.Errorf("got %v, %v, want %v", written, err, fields)
			}
		})
	}
}

// FuzzReadSet checks that readSet returns the same set as the library, and that writeSet restores it.
func FuzzReadSet(f *testing.F) {
	for _, text := range []string{
		`{"f:a":{}}`, `{"f:a":{".":{},"f:b":{}}}`, `{"f:a":{".":{}}}`, `{"v:1.0":{},"v:1":{}}`,
		`{"k:{\"b\":1,\"a\":2}":{}}`, `{"x:a":{}}`,
		`{"f:a":null}`, `{"f:a":{".":{"f:b":{}}}}`, `{"":{}}`, `{"v:":{}}`, `{"i:01":{}}`,
		`{"v:12345678901234567890":{}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var fields map[string]any
		if utiljson.Unmarshal(text, &fields) != nil {
			return
		}
		got, ok := readSet(fields)
		if _, marked := fields[itself]; !ok || marked {
			return
		}
		var want fieldpath.Set
		again, err := utiljson.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if err := want.FromJSON(bytes.NewReader(again)); err != nil || !got.Equals(&want) {
			t.Fatalf("got %v, want %v, %v", got, want, err)
		}
		written, err := writeSet(got)
		if err != nil || len(fields) > 0 && !reflect.DeepEqual(written, fields) {
			t.Errorf("got %v, %v, want %v", written, err, fields)
		}
	})
}
