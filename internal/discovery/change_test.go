package discovery

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/crds"
)

// variants are what a CRD of a long group may become.
var variants = []func(*apiextensionsv1.CustomResourceDefinition){
	func(*apiextensionsv1.CustomResourceDefinition) {},
	func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Subresources = nil },
	func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false },
	func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[2].Served = true },
	func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].Served, crd.Spec.Versions[1].Served = false, false
	},
	func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Status.Conditions = nil },
	func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Status.Conditions = append(crd.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
			Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue,
		})
	},
}

// TestChangedGroups holds that a group made of the one before is the one that is made of the table, whatever has changed.
func TestChangedGroups(t *testing.T) {
	const group, most = "stable.example.com", 3 * longList
	random := rand.New(rand.NewPCG(1, 2))
	d, table := manyWidgets(t, most)
	d.group(group)
	ofBefore := 0
	check := func() {
		t.Helper()
		slot, _ := d.groups.Load(group)
		if slot != nil && slot.(*groupSlot).known.Load() != nil {
			ofBefore++
		}
		got, want := d.group(group), newGroup(group, table.Group(group))
		if got == nil || want == nil {
			if got != want {
				t.Fatalf("got %v, want %v", got, want)
			}
			return
		}
		if !slices.Equal(got.versions, want.versions) || !maps.Equal(got.served, want.served) || got.size != want.size {
			t.Fatalf("%v, %v, %d CRDs; want %v, %v, %d", got.versions, got.served, got.size, want.versions, want.served, want.size)
		}
		same := func(a, b *crds.Record) bool { return a.Name == b.Name && shown(a) == shown(b) }
		if !slices.EqualFunc(slices.Collect(got.records()), slices.Collect(want.records()), same) {
			t.Fatal("the CRDs are others, or in another order")
		}
		if !maps.Equal(got.digests(), want.digests()) {
			t.Fatal("the digests are others")
		}
		for _, s := range got.shares {
			if len(s.records) == 0 || len(s.records) > mostShare {
				t.Fatalf("%d CRDs in a share", len(s.records))
			}
		}
		isWhole(t, got)
		for _, version := range want.versions {
			if got, want := listed(t, got, version), listed(t, want, version); got != want {
				t.Fatalf("version %s: got %d bytes, want %d", version, len(got), len(want))
			}
		}
	}
	for range 60 {
		for range random.IntN(12) {
			n := random.IntN(most)
			name, record := numbered(t, n, variants[random.IntN(len(variants))])
			if random.IntN(3) == 0 {
				record = nil
			}
			table.show(name, record)
		}
		check()
	}
	if ofBefore < 40 {
		t.Errorf("%d groups were made of the one before", ofBefore)
	}
	for n := range most { // until nothing is left
		name, _ := numbered(t, n)
		table.show(name, nil)
		if n%10 == 0 || n == most-1 {
			check()
		}
	}
}

// isWhole holds that what is put together of shares is, to the byte, what is encoded as a whole.
func isWhole(t *testing.T, g *group) {
	t.Helper()
	got, err := g.joinItem()
	if err != nil {
		t.Fatal(err)
	}
	want, err := g.wholeItem()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(slices.Concat(got.json...), want.json[0]) {
		t.Fatalf("JSON: got %s, want %s", slices.Concat(got.json...), want.json[0])
	}
	if !bytes.Equal(slices.Concat(got.protobuf...), want.protobuf[0]) {
		t.Fatal("protobuf is another")
	}
}

// listed is what clients are told of a version.
func listed(t testing.TB, g *group, version string) string {
	t.Helper()
	var text strings.Builder
	for _, s := range g.shares {
		list, err := s.list(version)
		if err != nil {
			t.Fatal(err)
		}
		if list.Length() == 0 {
			continue
		}
		if err := separated(plainBody{&text}, ",", list); err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

// TestReadWhileChanging holds that a change is in every list that is read after it, whoever reads meanwhile.
func TestReadWhileChanging(t *testing.T) {
	const path, count, readers = "/apis/stable.example.com/v1", 3 * longList, 4
	d, table := manyWidgets(t, count)
	h := handler(d)
	done := make(chan struct{})
	var reading sync.WaitGroup
	defer reading.Wait()
	defer close(done)
	for range readers { // until done
		reading.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					get(t, h, path)
				}
			}
		})
	}
	change := func(name string, record *crds.Record) {
		table.show(name, record)
		body := string(get(t, h, path).expect(t, http.StatusOK).body)
		plural, _, _ := strings.Cut(name, ".")
		if shown := strings.Contains(body, `"name":"`+plural+`"`); shown != (record != nil) {
			t.Fatalf("%s is shown: %t", plural, shown)
		}
	}
	for n := range 24 {
		name, record := numbered(t, n)
		change(name, nil)
		change(name, record)
	}
}

// BenchmarkChangedGroup reads what is said of 2,000 CRDs after one of them has changed.
func BenchmarkChangedGroup(b *testing.B) {
	const count, changing = 2000, 50
	d, table := manyWidgets(b, count)
	h := handler(d)
	type named struct {
		name   string
		record *crds.Record
	}
	var changes []named
	for n := range 2 * changing {
		name, record := numbered(b, n%changing*(count/changing), func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Names.Categories = []string{fmt.Sprint(n)}
		})
		changes = append(changes, named{name, record})
	}
	for name, request := range map[string][2]string{
		"list":       {"/apis/stable.example.com/v1", runtime.ContentTypeJSON},
		"aggregated": {"/apis", asJSON},
		"protobuf":   {"/apis", asProtobuf},
		"index":      {"/openapi/v3", runtime.ContentTypeJSON},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				change := changes[n%len(changes)]
				table.show(change.name, change.record)
				get(b, h, request[0], "Accept", request[1], "Accept-Encoding", "gzip").expect(b, http.StatusOK)
			}
		})
	}
}
