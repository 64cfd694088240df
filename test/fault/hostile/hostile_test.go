package hostile_test

import (
	"reflect"
	"testing"

	"github.com/crd-server/crd-server/test/fault/hostile"
)

// TestInputsAreRepeatable checks that a case always has the same bytes, and that its budget is set.
func TestInputsAreRepeatable(t *testing.T) {
	t.Parallel()
	for _, s := range hostile.Shapes {
		for seed := range uint64(8) {
			c := hostile.Case{Shape: s.Name, Size: max(1, s.Small/10), Seed: seed}
			first, err := c.Input()
			if err != nil {
				t.Fatal(err)
			}
			second, err := c.Input()
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(first, second) {
				t.Errorf("%s: two inputs differ", c)
			}
			if first.Budget < 64<<20 || first.Size() == 0 {
				t.Errorf("%s: %d bytes with a budget of %d", c, first.Size(), first.Budget)
			}
		}
	}
}

// TestUnknownShape checks that a case of an unknown shape is an error.
func TestUnknownShape(t *testing.T) {
	t.Parallel()
	if _, err := (hostile.Case{Shape: "none", Size: 1}).Input(); err == nil {
		t.Error("no error")
	}
}

// TestSearch checks that a search finds the worst size and the worst seeds of a known cost.
func TestSearch(t *testing.T) {
	t.Parallel()
	found, err := hostile.Search(1, 60, func(c hostile.Case) (float64, error) {
		if c.Shape == "labels" {
			return float64(c.Size + 10000), nil
		}
		return float64(c.Seed % 10), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(hostile.Single) || found[0].Shape != "labels" || found[0].Cost < 12000 {
		t.Errorf("%d shapes, the worst is %s with %v", len(found), found[0].Case, found[0].Cost)
	}
	for _, f := range found[1:] {
		if f.Cost < 8 {
			t.Errorf("%s: only %v", f.Case, f.Cost)
		}
	}
}
