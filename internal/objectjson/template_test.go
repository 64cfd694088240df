package objectjson

import (
	"encoding/json"
	"testing"
)

func TestTemplate(t *testing.T) {
	t.Parallel()
	values := [][]byte{[]byte("zero"), []byte("one"), []byte("two")}
	encoded, err := json.Marshal([]any{Mark(0), map[string]string{"a": "x" + Mark(2) + Mark(0), Mark(1): "hole-0-"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(NewTemplate(encoded, "", "").Append([]byte("before "),
		values)), `before ["zero",{"a":"xtwozero","one":"hole-0-"}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	encoded = []byte(`{"a":{"b":"` + Mark(1) + `"},"c":{"b":""}}`)
	if got, want := string(NewTemplate(encoded, `{"b":"`, `"}`).Append(nil,
		[][]byte{nil, []byte("{}")})), `{"a":{},"c":{"b":""}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(NewTemplate([]byte("{}"), "", "").Append(nil, nil)); got != "{}" {
		t.Errorf("got %s without holes", got)
	}
}
