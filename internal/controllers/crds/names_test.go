package crds

import (
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crd-server/crd-server/internal/crds"
)

type nameSet = apiextensionsv1.CustomResourceDefinitionNames

func named(plural, singular, kind, listKind string, shortNames ...string) nameSet {
	return nameSet{Plural: plural, Singular: singular, Kind: kind, ListKind: listKind, ShortNames: shortNames}
}

// alfa holds the names that the CRD of these tests requests.
var alfa = named("alfa", "delta-singular", "echo-kind", "foxtrot-listkind", "golf-shortname-1", "hotel-shortname-2")

// TestAccept checks the cases and messages of the tests of upstream's naming controller.
func TestAccept(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		requested, accepted, other nameSet
		want                       nameSet
		conflict                   *conflict
	}{
		"first": {requested: alfa, want: alfa},
		"plural to singular": {
			requested: alfa, other: named("india", "alfa", "", ""),
			want:     named("", "delta-singular", "echo-kind", "foxtrot-listkind", "golf-shortname-1", "hotel-shortname-2"),
			conflict: &conflict{"PluralConflict", `"alfa" is already in use`},
		},
		"singular to short name": {
			requested: alfa, other: named("india", "indias", "", "", "delta-singular"),
			want:     named("alfa", "", "echo-kind", "foxtrot-listkind", "golf-shortname-1", "hotel-shortname-2"),
			conflict: &conflict{"SingularConflict", `"delta-singular" is already in use`},
		},
		"short name to short name": {
			requested: alfa, other: named("india", "indias", "", "", "hotel-shortname-2"),
			want:     named("alfa", "delta-singular", "echo-kind", "foxtrot-listkind"),
			conflict: &conflict{"ShortNamesConflict", `"hotel-shortname-2" is already in use`},
		},
		"two short names": {
			requested: alfa, other: named("golf-shortname-1", "hotel-shortname-2", "", ""),
			want: named("alfa", "delta-singular", "echo-kind", "foxtrot-listkind"),
			conflict: &conflict{"ShortNamesConflict",
				`["golf-shortname-1" is already in use, "hotel-shortname-2" is already in use]`},
		},
		"kind to list kind": {
			requested: alfa, other: named("india", "indias", "", "echo-kind"),
			want:     named("alfa", "delta-singular", "", "foxtrot-listkind", "golf-shortname-1", "hotel-shortname-2"),
			conflict: &conflict{"KindConflict", `"echo-kind" is already in use`},
		},
		"list kind to kind": {
			requested: alfa, other: named("india", "indias", "foxtrot-listkind", ""),
			want:     named("alfa", "delta-singular", "echo-kind", "", "golf-shortname-1", "hotel-shortname-2"),
			conflict: &conflict{"ListKindConflict", `"foxtrot-listkind" is already in use`},
		},
		"a kind is no resource": {requested: alfa,
			other: named("echo-kind", "foxtrot-listkind", "alfa", "delta-singular"), want: alfa},
		"no conflict on resource and kind": {requested: alfa, other: named("india", "echo-kind", "", ""), want: alfa},
		"the last of several is told": {
			requested: alfa, other: named("alfa", "", "echo-kind", ""),
			want:     named("", "delta-singular", "", "foxtrot-listkind", "golf-shortname-1", "hotel-shortname-2"),
			conflict: &conflict{"KindConflict", `"echo-kind" is already in use`},
		},
		"unchanged": {requested: alfa, accepted: alfa, want: alfa},
		"what was accepted is kept": {
			requested: named("alfa", "taken", "echo-kind", "foxtrot-listkind"),
			accepted:  named("alfa", "old", "echo-kind", "foxtrot-listkind"),
			other:     named("taken", "", "", ""),
			want:      named("alfa", "old", "echo-kind", "foxtrot-listkind"),
			conflict:  &conflict{"SingularConflict", `"taken" is already in use`},
		},
		"its own short name becomes the singular": {
			requested: named("alfa", "al", "Alfa", "AlfaList"),
			accepted:  named("alfa", "alf", "Alfa", "AlfaList", "al"),
			want:      named("alfa", "al", "Alfa", "AlfaList"),
		},
		"its own plural becomes the singular": {
			requested: named("alfa", "alfa", "Alfa", "AlfaList"),
			accepted:  named("alfa", "alf", "Alfa", "AlfaList"),
			want:      named("alfa", "alf", "Alfa", "AlfaList"),
			conflict:  &conflict{"SingularConflict", `"alfa" is already in use`},
		},
		"categories are never refused": {
			requested: nameSet{Plural: "alfa", Categories: []string{"all"}},
			accepted:  nameSet{Categories: []string{"some"}}, other: named("alfa", "", "", ""),
			want:     nameSet{Categories: []string{"all"}},
			conflict: &conflict{"PluralConflict", `"alfa" is already in use`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClaims()
			c.count(&tc.other, 1)
			c.count(&tc.accepted, 1)
			got, conflict := c.accept(&tc.requested, tc.accepted)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.conflict, conflict, cmp.AllowUnexported(*newConflict())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func newConflict() *conflict { return &conflict{} }

func recordNamed(name string, revision int64, requested, accepted nameSet) *crds.Record {
	r := &crds.Record{Revision: revision, Group: "bravo.com", Names: requested, AcceptedNames: accepted}
	r.Name = name
	return r
}

// records are the CRDs of one group.
type records []*crds.Record

func (r records) Group(string) iter.Seq[*crds.Record] { return slices.Values(r) }

func TestClaimed(t *testing.T) {
	t.Parallel()
	wanted := named("", "", "Kind", "")
	for name, tc := range map[string]struct {
		group []*crds.Record
		free  bool
	}{
		"nobody":            {nil, true},
		"accepted":          {[]*crds.Record{recordNamed("a", 20, wanted, wanted)}, false},
		"wanted by older":   {[]*crds.Record{recordNamed("a", 5, wanted, nameSet{})}, false},
		"wanted by younger": {[]*crds.Record{recordNamed("a", 15, wanted, nameSet{})}, true},
		"its own":           {[]*crds.Record{recordNamed("self", 10, wanted, wanted)}, true},
		"given up by older": {[]*crds.Record{recordNamed("a", 5, named("", "", "Other", ""), wanted)}, true},
		"refused with others, all or nothing": {[]*crds.Record{
			recordNamed("a", 5, named("p", "", "", "", "s", "t"), named("p", "", "", "")),
			recordNamed("b", 3, named("t", "", "Kind2", ""), named("t", "", "Kind2", "")),
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			self := &apiextensionsv1.CustomResourceDefinition{}
			self.Name, self.Spec.Names = "self", named("", "", "Kind", "", "s")
			_, conflict := claimed(records(tc.group), self, 10).accept(&self.Spec.Names, nameSet{})
			if (conflict == nil) != tc.free {
				t.Errorf("conflict: %+v, want free: %t", conflict, tc.free)
			}
		})
	}
}
