package validation

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
)

// decoding generates a structural schema and an object, nil if what came out is no structural schema.
func (c *choices) decoding(t testing.TB) (*structuralschema.Structural, map[string]any) {
	s := c.schema(3)
	s.Type = "object"
	s.Enum = nil
	structural, err := structuralschema.NewStructural(internalSchema(t, &s))
	if err != nil {
		return nil, nil
	}
	obj := c.object(&s, 3).(map[string]any)
	for _, name := range []string{"metadata", "kind", "unknown"} {
		if c.once(6) {
			obj[name] = choose(c, schemaValues)
		}
	}
	return structural, obj
}

// compareDecoding holds what is clean, unique and filled in against the library. It returns what was seen to need nothing, and
// what needs nothing.
func compareDecoding(t testing.TB, c *choices) (seen, need verdicts) {
	t.Helper()
	structural, obj := c.decoding(t)
	if structural == nil {
		return seen, need
	}
	root := compileNode(structural)

	pruned := runtime.DeepCopyJSON(obj)
	pruning.Prune(pruned, structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(pruned, structural)
	seen.clean, need.clean = root.cleanObject(obj, true), cmp.Equal(obj, pruned)
	if seen.clean && !need.clean {
		t.Fatalf("not clean: %#v (-before +after pruning):\n%s", obj, cmp.Diff(obj, pruned))
	}

	found := listtype.ValidateListSetsAndMaps(nil, structural, obj)
	seen.unique, need.unique = compileLists(*structural).obvious(obj), len(found) == 0
	if seen.unique && !need.unique {
		t.Fatalf("not unique: %#v: %v", obj, found)
	}

	want, got := runtime.DeepCopyJSON(pruned), runtime.DeepCopyJSON(pruned)
	defaulting.Default(want, structural)
	(&filling{left: MaxDefaults}).fill(root, got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("filled in: %#v (-library +ours):\n%s", pruned, diff)
	}
	return seen, need
}

type verdicts struct{ clean, unique bool }

// TestDecodingAgainstLibrary holds what is done to random objects by random schemas against the library.
func TestDecodingAgainstLibrary(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds = 5_000
	}
	random := rand.New(rand.NewPCG(11, 12))
	var clean, seenClean, unique, seenUnique int
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	for range rounds {
		seen, need := compareDecoding(t, randomChoices(random))
		count(&clean, need.clean)
		count(&seenClean, seen.clean)
		count(&unique, need.unique)
		count(&seenUnique, seen.unique)
	}
	t.Logf("%d rounds: %d of %d clean, %d of %d unique", rounds, seenClean, clean, seenUnique, unique)
	if seenClean < clean*8/10 || seenUnique < unique*8/10 || clean < rounds/10 {
		t.Errorf("%d rounds: %d of %d clean, %d of %d unique", rounds, seenClean, clean, seenUnique, unique)
	}
}

func FuzzDecoding(f *testing.F) {
	random := rand.New(rand.NewPCG(13, 14))
	for range 20 {
		f.Add([]byte(*randomChoices(random)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := choices(slices.Clone(data))
		compareDecoding(t, &c)
	})
}

// TestUniqueLongLists is about lists that are too long to compare each item with all others.
func TestUniqueLongLists(t *testing.T) {
	var texts, objects []any
	for n := range int64(100) {
		texts = append(texts, n)
		objects = append(objects, map[string]any{"a": n, "b": "x"})
	}
	for _, tc := range []struct {
		name  string
		items []any
		keys  []string
		want  bool
	}{
		{"set", texts, nil, true},
		{"set with a double", append(slices.Clone(texts), int64(7)), nil, false},
		{"map", objects, []string{"a"}, true},
		{"map with a double", append(slices.Clone(objects), objects[7]), []string{"a"}, false},
		{"several keys are the library's", objects, []string{"a", "b"}, false},
	} {
		got := uniqueScalars(tc.items)
		if tc.keys != nil {
			got = uniqueKeys(tc.items, tc.keys)
		}
		if got != tc.want {
			t.Errorf("%s: %t", tc.name, got)
		}
	}
}
