package transcripts

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crd-server/crd-server/test/programs"
)

var (
	writtenKinds = flag.String("definitions", "", "a folder of CRDs for TestWritten, instead of those of the project")
	writtenTimes = flag.Int("sequences", 4, "how many sequences of random writes TestWritten sends for each CRD")
)

// TestWritten sends random writes of the kinds in testdata/lockstep and config/samples. The server keeps what it serves
// of an object that it has written, and compares that with what it reads of the stored value (process.CheckCache). A
// difference fails the test when the server ends.
func TestWritten(t *testing.T) {
	if *upstream {
		t.Skip("with -upstream, TestDifferential compares the answers")
	}
	t.Parallel()
	start := folders[0].startOurs
	if programs.BuiltWith("-tags") == "library" {
		start = folders[0].startUnchecked // the libraries log an error for some of the writes
	}
	ours := start(t)
	var kinds []*kind
	if *writtenKinds != "" {
		kinds = kindsIn(t, *writtenKinds)
	} else {
		kinds = append(readKinds(t), kindsIn(t, samples)...)
	}
	t.Run("of", func(t *testing.T) {
		for _, k := range kinds {
			t.Run(k.plural+"."+k.group, func(t *testing.T) {
				t.Parallel()
				newPlayer(t, ours).serve(k.yaml)
				created := 0
				for n := range *writtenTimes {
					side := newSide(t, ours, fmt.Sprintf("written%d", n))
					created += playWrites(side, k, rand.New(rand.NewPCG(23, uint64(n))))
				}
				if created == 0 && *writtenKinds == "" {
					t.Error("no object was created")
				}
			})
		}
	})
}

// playWrites sends a sequence of writes, and returns how many objects they have created.
func playWrites(s *side, k *kind, random *rand.Rand) (created int) {
	for range sequenceLength {
		p := k.in(random, s.space)
		w := write{Rand: random, place: p, known: s, object: pick(random, p.names()), query: url.Values{}}
		exists := s.objects[w.object] != nil
		r := w.request()
		if !exists && chance(random, 70) {
			r = w.send(http.MethodPost, w.collection(), "application/json", encode(w.fitting()))
		}
		if s.ask(r); !exists && s.objects[w.object] != nil {
			created++
		}
	}
	return created
}

// fitting returns a new object that is likely to be valid.
func (w *write) fitting() map[string]any {
	w.query = url.Values{}
	object, _ := fitting(w.Rand, w.schema, 30).(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	object["apiVersion"], object["kind"] = w.group+"/"+w.name, w.kind.kind
	object["metadata"] = map[string]any{"name": w.object}
	return object
}

// fitting returns a random value that is likely to be valid by a schema. Optional fields are set in so many percent of
// cases, and half as often with each level.
func fitting(random *rand.Rand, schema map[string]any, often int) any {
	if enum, ok := schema["enum"].([]any); ok {
		return pick(random, enum)
	}
	switch schema["type"] {
	case "object":
		return fittingObject(random, schema, often)
	case "array":
		items, _ := schema["items"].(map[string]any)
		list := []any{}
		for range max(1, atLeast(schema, "minItems")) {
			list = append(list, fitting(random, items, often/2))
		}
		return list
	case "integer", "number":
		return max(1, atLeast(schema, "minimum"))
	case "boolean":
		return chance(random, 50)
	case "string":
		return fittingText(schema)
	}
	return 1
}

// fittingText returns a string that matches the pattern of a schema, if any of a few usual ones does.
func fittingText(schema map[string]any) string {
	if schema["format"] == "date-time" {
		return "2020-01-02T03:04:05Z"
	}
	text := strings.Repeat("a", max(1, atLeast(schema, "minLength")))
	pattern, _ := schema["pattern"].(string)
	for _, candidate := range []string{text, "1", "a.example.com", "* * * * *", "10.0.0.0/8", "1h", "https://a"} {
		if matches, err := regexp.MatchString(pattern, candidate); err == nil && matches {
			return candidate
		}
	}
	return text
}

func fittingObject(random *rand.Rand, schema map[string]any, often int) map[string]any {
	object := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(required, any(name)) || name == "spec" || chance(random, often) {
			object[name] = fitting(random, properties[name].(map[string]any), often/2)
		}
	}
	if values, ok := schema["additionalProperties"].(map[string]any); ok {
		object["key"] = fitting(random, values, often/2)
	}
	return object
}

// atLeast returns a limit of a schema, 0 if it has none.
func atLeast(schema map[string]any, limit string) int {
	least, _ := schema[limit].(float64)
	return int(least)
}
