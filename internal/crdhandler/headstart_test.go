package crdhandler

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/validation"
)

// TestHeadStart holds that a new CRD is compiled ahead for the kind and generation that it had, and for nothing else.
func TestHeadStart(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(h *headStart, record *crds.Record)
		taken  bool
	}{
		"as it was":            {func(_ *headStart, record *crds.Record) { record.AcceptedNames.Kind = record.Names.Kind }, true},
		"not accepted":         {func(_ *headStart, record *crds.Record) { record.AcceptedNames.Kind = "" }, false},
		"another kind":         {func(_ *headStart, record *crds.Record) { record.AcceptedNames.Kind = "Other" }, false},
		"another schema":       {func(_ *headStart, record *crds.Record) { record.Generation++ }, false},
		"another CRD":          {func(_ *headStart, record *crds.Record) { record.UID = "other" }, false},
		"changed in between":   {func(h *headStart, record *crds.Record) { h.drop(record.UID) }, false},
		"another one in front": {func(h *headStart, _ *crds.Record) { h.admit("another", 1) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &headStart{}
				record := limitedRecord(t, "gadgets", 1)
				record.UID = "uid"
				h.begin(unstored(t, record))
				synctest.Wait()
				later := *record
				later.AcceptedNames = later.Names
				tc.change(h, &later)
				schemas := h.take(&later)
				if (schemas != nil) != tc.taken {
					t.Fatalf("taken: %t, want %t", schemas != nil, tc.taken)
				}
				if schemas != nil && schemas.Bytes() <= validation.New(limited("gadgets", 1)).Bytes() {
					t.Error("nothing has been compiled")
				}
				if h.take(&later) != nil {
					t.Error("taken twice")
				}
			})
		})
	}
}

// unstored is the CRD of a record while it is being created.
func unstored(t *testing.T, record *crds.Record) *apiextensions.CustomResourceDefinition {
	t.Helper()
	crd, err := record.Internal()
	if err != nil {
		t.Fatal(err)
	}
	crd.UID, crd.Generation = record.UID, record.Generation
	return crd
}

// TestEarlySchemas holds that schemas do not keep a CRD that was compiled ahead, and read it again from where it is stored.
func TestEarlySchemas(t *testing.T) {
	record := limitedRecord(t, "gadgets", 1)
	early, err := newEarlySchemas(unstored(t, record), "v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := early.compile("other"); err != nil {
		t.Error(err)
	}
	if _, err := early.definition(); !errors.Is(err, errNotStored) {
		t.Errorf("the CRD is kept: %v", err)
	}
	early.stored.Store(record)
	want, err := record.Internal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := early.definition()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := early.set.Version("v1").Compile(); err != nil {
		t.Error(err)
	}
}

// TestHeadStartsForNothing holds that CRDs are not compiled ahead while they are created and not used.
func TestHeadStartsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &headStart{}
		record := limitedRecord(t, "gadgets", 1)
		created := func(generation int64) (begun bool) {
			record.UID, record.Generation = types.UID(fmt.Sprint("uid", generation)), generation
			h.begin(unstored(t, record))
			synctest.Wait()
			return h.early != nil
		}
		generation := int64(0)
		for range mostUnused {
			generation++
			if !created(generation) {
				t.Error("no head start at first")
			}
		}
		if created(generation + 1) {
			t.Error("a head start after some that nobody took")
		}
		if h.take(record) != nil {
			t.Error("taken without a head start")
		}
		if !created(generation + 2) {
			t.Error("no head start after a CRD was used at once")
		}
	})
}
