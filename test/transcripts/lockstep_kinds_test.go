package transcripts

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// kind is a custom resource of the random steps.
type kind struct {
	// yaml is its CRD.
	yaml string
	// group, plural and kind are its names.
	group, plural, kind string
	namespaced          bool
	versions            []kindVersion
}

// kindVersion is a served version of a kind.
type kindVersion struct {
	name string
	// schema is its openAPIV3Schema.
	schema map[string]any
	// scales says that it has the scale subresource. others are further subresources, of built-in kinds.
	scales bool
	others []string
}

// lockstepGroup is the API group of the kinds in testdata/lockstep.
const lockstepGroup = "lockstep.example.com"

// readKinds returns the kinds of lockstep, kindsIn those of the CRDs in a folder.
func readKinds(t testing.TB) []*kind { return kindsIn(t, "testdata/lockstep") }

func kindsIn(t testing.TB, folder string) (kinds []*kind) {
	t.Helper()
	for _, content := range documents(t, folder) {
		kinds = append(kinds, newKind(t, content))
	}
	return kinds
}

// newKind returns the kind of a CRD.
func newKind(t testing.TB, content string) *kind {
	t.Helper()
	var crd struct {
		Spec struct {
			Group, Scope string
			Names        struct{ Plural, Kind string }
			Versions     []struct {
				Name         string
				Served       bool
				Schema       struct{ OpenAPIV3Schema map[string]any }
				Subresources struct {
					Scale  map[string]any
					Others []string
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(content), &crd); err != nil {
		t.Fatalf("%v: %s", err, content)
	}
	names := crd.Spec.Names
	k := &kind{yaml: content, group: crd.Spec.Group, plural: names.Plural, kind: names.Kind,
		namespaced: crd.Spec.Scope == "Namespaced"}
	for _, version := range crd.Spec.Versions {
		if version.Served {
			k.versions = append(k.versions, kindVersion{name: version.Name, schema: version.Schema.OpenAPIV3Schema,
				scales: version.Subresources.Scale != nil, others: version.Subresources.Others})
		}
	}
	return k
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
	path := "/apis/" + p.apiVersion() + "/"
	if p.group == "" {
		path = "/api/" + p.name + "/"
	}
	if p.namespaced {
		path += "namespaces/" + p.space + "/"
	}
	return path + p.plural
}

// apiVersion is that of the objects.
func (p place) apiVersion() string { return strings.TrimPrefix(p.group+"/"+p.name, "/") }

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
