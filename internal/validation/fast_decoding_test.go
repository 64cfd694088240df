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
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// decoding generates a structural schema and an object. The schema is nil if the generated one is not structural.
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

// compareDecoding compares pruning, list types and defaulting with the library. It returns whether the node reports the
// object to be clean, and whether it is.
func compareDecoding(t testing.TB, c *choices) (seen, clean bool) {
	t.Helper()
	structural, obj := c.decoding(t)
	if structural == nil {
		return seen, clean
	}
	root := compileNode(structural)

	pruned := runtime.DeepCopyJSON(obj)
	pruning.Prune(pruned, structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(pruned, structural)
	seen, clean = root.cleanObject(obj, true), cmp.Equal(obj, pruned)
	if seen && !clean {
		t.Fatalf("not clean: %#v (-before +after pruning):\n%s", obj, cmp.Diff(obj, pruned))
	}

	counts := func(errs field.ErrorList) map[string]int {
		counts := map[string]int{} // the order is random
		for _, text := range texts(errs) {
			counts[text]++
		}
		return counts
	}
	whole, part := listtype.ValidateListSetsAndMaps(nil, structural, obj),
		listtype.ValidateListSetsAndMaps(nil, keyedLists(structural), obj)
	if diff := cmp.Diff(counts(whole), counts(part)); diff != "" {
		t.Fatalf("lists of %#v (-whole schema +part for lists):\n%s", obj, diff)
	}

	want, got := runtime.DeepCopyJSON(pruned), runtime.DeepCopyJSON(pruned)
	defaulting.Default(want, structural)
	(&defaulter{left: MaxDefaults}).set(root, got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("defaults of %#v (-library +ours):\n%s", pruned, diff)
	}
	return seen, clean
}

// TestDecodingAgainstLibrary compares decoding random objects by random schemas with the library.
func TestDecodingAgainstLibrary(t *testing.T) {
	t.Parallel()
	rounds := 20_000
	if testing.Short() {
		rounds = 5_000
	}
	random := rand.New(rand.NewPCG(11, 12))
	var clean, seen int
	for range rounds {
		got, want := compareDecoding(t, randomChoices(random))
		if want {
			clean++
		}
		if got {
			seen++
		}
	}
	t.Logf("%d rounds: %d of %d clean", rounds, seen, clean)
	if seen < clean*8/10 || clean < rounds/10 {
		t.Errorf("%d rounds: %d of %d clean", rounds, seen, clean)
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
