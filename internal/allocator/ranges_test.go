package allocator

import (
	"net/netip"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
)

func TestParseRanges(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{
		"10.0.0.0/24":                   "",
		"10.0.0.7/24":                   "",
		"10.0.0.0/24,fd00::/108":        "",
		"fd00::/64, 10.0.0.0/16":        "",
		"":                              "no range of addresses",
		"10.0.0.0":                      "no range of addresses",
		"10.0.0.0/24,10.1.0.0/24":       "same IP family",
		"10.0.0.0/24,fd00::/64,fd01::/": "more than two ranges",
		"10.0.0.0/31":                   "too few addresses",
		"fd00::/127":                    "too few addresses",
		"fd00::/63":                     "shortest prefix",
	} {
		ranges, err := ParseRanges(flag)
		switch {
		case want == "" && (err != nil || len(ranges) != strings.Count(flag, ",")+1):
			t.Errorf("%q: %v, %v", flag, ranges, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: error %v, want %q", flag, err, want)
		}
	}
}

// TestRange checks the bounds of ranges, and that the candidates are all addresses between them, those of the dynamic
// part first.
func TestRange(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string][3]string{ // first, dynamic, last
		"10.0.0.0/24":  {"10.0.0.1", "10.0.0.17", "10.0.0.254"},
		"10.0.0.0/20":  {"10.0.0.1", "10.0.1.1", "10.0.15.254"},
		"10.0.0.0/28":  {"10.0.0.1", "10.0.0.1", "10.0.0.14"},
		"10.0.0.0/30":  {"10.0.0.1", "10.0.0.1", "10.0.0.2"},
		"fd00::/120":   {"fd00::1", "fd00::11", "fd00::ff"},
		"fd00:1::/64":  {"fd00:1::1", "fd00:1::101", "fd00:1::ffff:ffff:ffff:ffff"},
		"fd00:1::/112": {"fd00:1::1", "fd00:1::101", "fd00:1::ffff"},
	} {
		r := newRange(netip.MustParsePrefix(prefix))
		if got := [3]string{r.at(1).String(), r.at(r.dynamic).String(), r.at(r.last).String()}; got != want {
			t.Errorf("%s: %v, want %v", prefix, got, want)
		}
		if strings.HasSuffix(prefix, "/64") {
			continue
		}
		seen, dynamic := sets.New[uint64](), int(r.last-r.dynamic)+1
		for number := range candidates(1, r.dynamic, r.last) {
			isDynamic, complete := number >= r.dynamic, seen.Len() >= dynamic
			if seen.Has(number) || !r.has(r.at(number)) || isDynamic == complete {
				t.Fatalf("%s: candidate %d after %d", prefix, number, seen.Len())
			}
			seen.Insert(number)
		}
		if seen.Len() != int(r.last) {
			t.Errorf("%s: %d candidates of %d addresses", prefix, seen.Len(), r.last)
		}
		for _, number := range []uint64{0, r.last + 1} { // those beside them
			if address := r.at(number); r.has(address) {
				t.Errorf("%s has %s", prefix, address)
			}
		}
	}
	for range 100 { // a range whose size is no uint64 of the number of addresses
		r := newRange(netip.MustParsePrefix("fd00::/64"))
		for number := range candidates(1, r.dynamic, r.last) {
			if !r.has(r.at(number)) || number < r.dynamic {
				t.Fatalf("candidate %d", number)
			}
			break
		}
	}
}

// TestPortCandidates checks that the candidates are all ports of a range, those at its beginning last.
func TestPortCandidates(t *testing.T) {
	t.Parallel()
	seen := sets.New[uint64]()
	for port := range portCandidates(net.PortRange{Base: 100, Size: 40}) {
		if inReserved := port < 116; port < 100 || port > 139 || seen.Has(port) || inReserved != (seen.Len() >= 24) {
			t.Fatalf("port %d after %d others", port, seen.Len())
		}
		seen.Insert(port)
	}
	if seen.Len() != 40 {
		t.Errorf("%d candidates", seen.Len())
	}
}
