package transcripts

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// kind is a custom resource of the random steps.
type kind struct {
	// yaml is its CRD.
	yaml string
	// plural and kind are its names.
	plural, kind string
	namespaced   bool
	versions     []kindVersion
}

// kindVersion is a served version of a kind.
type kindVersion struct {
	name string
	// schema is its openAPIV3Schema.
	schema map[string]any
}

// lockstepGroup is the API group of all kinds.
const lockstepGroup = "lockstep.example.com"

// readKinds reads testdata/lockstep.
func readKinds(t testing.TB) []*kind {
	t.Helper()
	files, err := filepath.Glob("testdata/lockstep/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no kinds: %v", err)
	}
	var kinds []*kind
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Scope    string
				Names    struct{ Plural, Kind string }
				Versions []struct {
					Name   string
					Schema struct{ OpenAPIV3Schema map[string]any }
				}
			}
		}
		if err := yaml.Unmarshal(content, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		k := &kind{yaml: string(content), plural: crd.Spec.Names.Plural, kind: crd.Spec.Names.Kind,
			namespaced: crd.Spec.Scope == "Namespaced"}
		for _, version := range crd.Spec.Versions {
			k.versions = append(k.versions, kindVersion{version.Name, version.Schema.OpenAPIV3Schema})
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// place is a version of a kind in a namespace of the sequence.
type place struct {
	*kind
	kindVersion
	space string
}

// in picks a version of the kind.
func (k *kind) in(random *rand.Rand, space string) place {
	return place{k, pick(random, k.versions), space}
}

// collection is the path of the objects.
func (p place) collection() string {
	path := "/apis/" + lockstepGroup + "/" + p.name + "/"
	if p.namespaced {
		path += "namespaces/" + p.space + "/"
	}
	return path + p.plural
}

// names are the objects' names. Those of cluster-scoped objects contain the sequence.
func (p place) names() []string {
	names := []string{"a-" + p.plural, "b-" + p.plural}
	if !p.namespaced {
		for i := range names {
			names[i] += "-" + p.space
		}
	}
	return names
}

// pick returns one of several values.
func pick[T any](random *rand.Rand, of []T) T { return of[random.IntN(len(of))] }

// chance is true in that many percent of the calls.
func chance(random *rand.Rand, percent int) bool { return random.IntN(100) < percent }

// some returns a random subset, in order.
func some[T any](random *rand.Rand, percent int, of []T) []T {
	return slices.DeleteFunc(slices.Clone(of), func(T) bool { return !chance(random, percent) })
}
