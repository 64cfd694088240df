package dynamicstorage

import (
	"maps"
	"strings"
	"testing"
)

func FuzzPairs(f *testing.F) {
	f.Add("a", "b", "c", "")
	f.Add("", "\x00", strings.Repeat("long", 100), strings.Repeat("x", 20000))
	f.Fuzz(func(t *testing.T, a, x, b, y string) {
		m := map[string]string{a: x, b: y}
		p := PairsOf(m)
		if got := maps.Collect(p.All()); !maps.Equal(got, m) {
			t.Errorf("%q of %q", got, m)
		}
		for name, value := range m {
			if got, ok := p.Lookup(name); !ok || got != value || p.Get(name) != value || !p.Has(name) {
				t.Errorf("%q is %q", name, got)
			}
		}
		if absent := a + b + "-"; p.Has(absent) || p.Get(absent) != "" {
			t.Errorf("%q is there", absent)
		}
		if again := PairsOf(maps.Clone(m)); again != p {
			t.Errorf("%q is not %q", again, p)
		}
	})
}

func TestNoPairs(t *testing.T) {
	t.Parallel()
	if p := PairsOf(nil); p != (Pairs{}) || p.Has("") || PairsOf(map[string]string{}) != p {
		t.Errorf("%q", p)
	}
}
