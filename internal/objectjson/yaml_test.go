//go:build !library

package objectjson

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// FuzzUnmarshalYAML compares UnmarshalYAML with the YAML parser.
func FuzzUnmarshalYAML(f *testing.F) {
	for _, body := range []string{
		machine, `{}`, `{"a":null,"b":[true,false],"c":-1,"d":{"e":[]}}`, `{"a":"b: #c, \"d\"\\\n\t\r\b\f"}`,
		`{ "a" : [ 1 , 2 ] }`, `{"":"ü日本"}`,
		"{\"a\":1}\n",
		// left to the YAML parser
		`{"a":1.0}`, `{"a":1e3}`, `{"a":12345678901234567890}`, `{"a":"\/"}`, `{"a":"\u0041"}`, `{"a":1,"a":2}`,
		`{"<<":{"a":1}}`, "{\"a\":\t1}",
		"{\"a\":\"\u2028\u0085\ufeff\"}", "{\"\u00a0\":1}", `[]`, `null`, ``, `{"a":y}`, `{"a":-0}`, `{"a":-}`,
		`{"a":1:1}`, "{\"a\":\"\xff\"}",
		`{"` + strings.Repeat("k", 1100) + `":1}`, `{"a":"` + strings.Repeat("k", 1100) + `"}`, `{"a":0123}`,
		`{"a":{"b"}}`, `{"a":1 2}`, `{"a":1}}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, plain := UnmarshalYAML(body)
		if !plain {
			return
		}
		want := map[string]any{}
		if err := yaml.Unmarshal(body, &want); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %#v, as YAML it is %#v", body, got, want)
		}
		if err := yaml.UnmarshalStrict(body, &map[string]any{}); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
	})
}

func TestUnmarshalYAML(t *testing.T) {
	t.Parallel()
	for _, body := range []string{machine, `{}`, `{"a":"b: #c, \"d\"\\\n"}`, "{\"a\":-1}\n", `{"ü":[true,null]}`} {
		if _, plain := UnmarshalYAML([]byte(body)); !plain {
			t.Errorf("%s is plain", body)
		}
	}
	for _, body := range []string{`{"a":1.0}`, `{"a":1,"a":2}`, `{"<<":{}}`, `a: 1`,
		fmt.Sprintf(`{"%s":1}`, strings.Repeat("k", 1100))} {
		if _, plain := UnmarshalYAML([]byte(body)); plain {
			t.Errorf("%s is not plain", body)
		}
	}
}
