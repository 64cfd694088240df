package objectjson

import (
	"errors"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string { return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth) }
	for _, test := range []struct {
		name, document string
		want           error
	}{
		{"small", `{"a":[{},"{[\"{["]}`, nil},
		{"as deep as allowed", nested(maxDepth), nil},
		{"too deep", nested(maxDepth + 1), errTooDeep},
		{"lists that are too deep", strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1), errTooDeep},
		{"as deep as parsers go", nested(parserDepth), errTooDeep},
		{"many objects beside each other", "[" + strings.Repeat("{},", maxObjects-1) + "{}]", nil},
		{"too many objects", "[" + strings.Repeat("{},", maxObjects) + "{}]", errTooManyObjects},
		{"too many lists", "[" + strings.Repeat("[],", maxLists) + "[]]", errTooManyLists},
		{"brackets in strings", `["` + strings.Repeat(`[{\"`, maxObjects+1) + `","\\"]`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := CheckJSON([]byte(test.document)); !errors.Is(err, test.want) {
				t.Errorf("CheckJSON: %v, want %v", err, test.want)
			}
			var value any
			if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(test.document), &value); err != nil {
				t.Fatal(err)
			}
			if err := CheckValue(value); !errors.Is(err, test.want) {
				t.Errorf("CheckValue: %v, want %v", err, test.want)
			}
		})
	}
}

func TestYAMLLimit(t *testing.T) {
	t.Parallel()
	if err := CheckYAML([]byte(strings.Repeat("a: 1\n", maxYAMLMarks/2))); err != nil {
		t.Error(err)
	}
	for _, mark := range []string{"\n", ":", ",", "[", "{", "- ", "? "} {
		if err := CheckYAML([]byte(strings.Repeat(mark, maxYAMLMarks+1))); !errors.Is(err, errTooMuchYAML) {
			t.Errorf("%q: %v", mark, err)
		}
	}
}

// FuzzLimits checks that a document and its decoded form have the same shape.
func FuzzLimits(f *testing.F) {
	f.Add([]byte(`{"a":[{},"{[\"{["],"b\\":{}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		var value any
		if kjson.UnmarshalCaseSensitivePreserveInts(document, &value) != nil {
			return
		}
		var decoded Shape
		decoded.add(value, 0)
		// Decoding drops duplicate members.
		if s := ShapeOf(document); s.Depth < min(decoded.Depth, maxDepth) || s.Objects < decoded.Objects ||
			s.Lists < decoded.Lists {
			t.Errorf("scanned %+v, decoded %+v", s, decoded)
		}
	})
}
