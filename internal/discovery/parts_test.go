package discovery

import (
	"fmt"
	"slices"
	"testing"

	"github.com/crd-server/crd-server/internal/crds"
)

// TestSharesAreStable puts one CRD among thousands: nearly all parts must stay what they were.
func TestSharesAreStable(t *testing.T) {
	var records []*crds.Record
	const count = 3000
	for n := range count {
		record := &crds.Record{}
		record.Name = fmt.Sprintf("things%d.example.com", n)
		records = append(records, record)
	}
	before := divide(records)
	if joined := slices.Concat(before...); !slices.Equal(joined, records) {
		t.Fatal("the shares are not all CRDs in their order")
	}
	if few, many := count/usualShare/2, 2*count/usualShare; len(before) < few || len(before) > many {
		t.Errorf("%d shares", len(before))
	}
	known := map[string]bool{}
	for _, share := range before {
		known[names(share)] = true
	}
	another := &crds.Record{}
	another.Name = "another.example.com"
	changed := 0
	for _, share := range divide(slices.Insert(records, count/3, another)) {
		if len(share) > mostShare {
			t.Errorf("%d CRDs in a share", len(share))
		}
		if !known[names(share)] {
			changed++
		}
	}
	if changed > 3 {
		t.Errorf("%d shares are others now", changed)
	}
}

func names(records []*crds.Record) (joined string) {
	for _, record := range records {
		joined += record.Name + " "
	}
	return joined
}

// TestPanicsLeaveOut holds that a CRD over which the libraries panic is one that cannot be described.
func TestPanicsLeaveOut(t *testing.T) {
	if described, err := new(parts).describe(nil, partKey{}); err == nil || described != nil {
		t.Errorf("got %v, %v", described, err)
	}
}
