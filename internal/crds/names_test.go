package crds

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type nameSet = apiextensionsv1.CustomResourceDefinitionNames

// TestHeldNames changes CRDs of a group in turn, and looks at who has, and who waits for, names.
func TestHeldNames(t *testing.T) {
	table := newTestTable()
	alfas := nameSet{Plural: "alfas", Singular: "alfa", ShortNames: []string{"al"}, Kind: "Alfa", ListKind: "AlfaList"}
	bravos := nameSet{Plural: "bravos", Singular: "bravo", ShortNames: []string{"al", "br"}, Kind: "Alfa", ListKind: "BravoList"}
	record := func(name string, revision int64, wanted, accepted nameSet) *Record {
		r := testRecord(name, "x", revision)
		r.Names, r.AcceptedNames = wanted, accepted
		return r
	}
	expect := func(step string, resources, kinds map[string]int, waiting ...string) {
		t.Helper()
		want := Names{Resources: map[string]int{"al": 0, "bravos": 0, "bravo": 0, "br": 0}, Kinds: map[string]int{"Alfa": 0, "BravoList": 0}}
		for name, n := range resources {
			want.Resources[name] = n
		}
		for name, n := range kinds {
			want.Kinds[name] = n
		}
		if diff := cmp.Diff(want, table.Held("x", &bravos)); diff != "" {
			t.Errorf("%s: held: %s", step, diff)
		}
		if diff := cmp.Diff(waiting, names(slices.Values(table.Waiting("x")))); diff != "" {
			t.Errorf("%s: waiting: %s", step, diff)
		}
	}
	table.show(record("alfas", 1, alfas, nameSet{}))
	expect("wanted", nil, nil, "alfas.x")
	table.show(record("alfas", 2, alfas, alfas))
	expect("granted", map[string]int{"al": 1}, map[string]int{"Alfa": 1})
	some := nameSet{Plural: "bravos", Singular: "bravo", ListKind: "BravoList"}
	table.show(record("bravos", 3, bravos, some))
	expect("granted in part", map[string]int{"al": 1, "bravos": 1, "bravo": 1}, map[string]int{"Alfa": 1, "BravoList": 1}, "bravos.x")
	other := alfas
	other.ShortNames = nil
	table.show(record("alfas", 4, other, other))
	expect("given up", map[string]int{"bravos": 1, "bravo": 1}, map[string]int{"Alfa": 1, "BravoList": 1}, "bravos.x")
	table.drop(record("alfas", 5, other, other))
	expect("deleted", map[string]int{"bravos": 1, "bravo": 1}, map[string]int{"BravoList": 1}, "bravos.x")
	table.drop(record("bravos", 6, bravos, some))
	if held := table.Held("x", &bravos); len(held.Resources)+len(held.Kinds) != 0 || table.Waiting("x") != nil {
		t.Errorf("of an empty group: %v held, %v waiting", held, table.Waiting("x"))
	}
}
