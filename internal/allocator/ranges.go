package allocator

import (
	"fmt"
	"iter"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// ipRange is a range of cluster IPs.
type ipRange struct {
	prefix netip.Prefix
	// first and last are the addresses that Services may have. Those from dynamic on are given to Services that name
	// none, while there are any.
	first, dynamic, last netip.Addr
}

// minIPv6Bits is the shortest prefix of a range of IPv6, as in kube-apiserver.
const minIPv6Bits = 64

// ParseRanges returns the ranges of a flag: one, or two of both IP families, comma separated.
func ParseRanges(flag string) ([]netip.Prefix, error) {
	parts := strings.Split(flag, ",")
	if len(parts) > 2 {
		return nil, fmt.Errorf("%q has more than two ranges", flag)
	}
	ranges := make([]netip.Prefix, len(parts))
	for n, part := range parts {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("%q is no range of addresses such as 10.0.0.0/24", part)
		}
		ranges[n] = prefix.Masked()
		if is4 := prefix.Addr().Is4(); is4 && prefix.Bits() > 30 || !is4 && prefix.Bits() > 126 {
			return nil, fmt.Errorf("%q has too few addresses", part)
		} else if !is4 && prefix.Bits() < minIPv6Bits {
			return nil, fmt.Errorf("the shortest prefix of IPv6 is /%d, not that of %q", minIPv6Bits, part)
		}
	}
	if len(ranges) == 2 && ranges[0].Addr().Is4() == ranges[1].Addr().Is4() {
		return nil, fmt.Errorf("the ranges in %q are of the same IP family", flag)
	}
	return ranges, nil
}

// FirstAddress returns the first address of a range that a Service may have. It is that of the Service of the server.
func FirstAddress(prefix netip.Prefix) netip.Addr { return prefix.Masked().Addr().Next() }

func newRange(prefix netip.Prefix) *ipRange {
	r := &ipRange{prefix: prefix, first: FirstAddress(prefix)}
	size := new(big.Int).Lsh(big.NewInt(1), uint(prefix.Addr().BitLen()-prefix.Bits()))
	r.last = addressAt(prefix.Masked().Addr(), new(big.Int).Sub(size, big.NewInt(1)))
	if prefix.Addr().Is4() {
		r.last = r.last.Prev() // the last one is for broadcasts
	}
	r.dynamic = r.first
	if size.Cmp(big.NewInt(minReservedIPs)) > 0 {
		r.dynamic = addressAt(r.first, big.NewInt(reserved(size)))
	}
	return r
}

// Bounds of the number of addresses at the beginning of a range that Services are not given unless they name one.
const (
	minReservedIPs = 16
	maxReservedIPs = 256
)

func reserved(size *big.Int) int64 {
	part := new(big.Int).Rsh(size, 4) // a sixteenth
	if !part.IsInt64() {
		return maxReservedIPs
	}
	return min(max(part.Int64(), minReservedIPs), maxReservedIPs)
}

// addressAt returns the address at a distance from another one. It must not be beyond the last one of the family.
func addressAt(from netip.Addr, distance *big.Int) netip.Addr {
	bytes := from.AsSlice()
	new(big.Int).Add(new(big.Int).SetBytes(bytes), distance).FillBytes(bytes)
	address, _ := netip.AddrFromSlice(bytes)
	return address
}

// family returns the IP family of the range.
func (r *ipRange) family() corev1.IPFamily { return familyOf(r.prefix.Addr()) }

func familyOf(address netip.Addr) corev1.IPFamily {
	if address.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

// candidates returns the addresses to try for a Service that names none: all from dynamic on, and then those before it.
// Both parts begin at a random address.
func (r *ipRange) candidates() iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		if between(r.dynamic, r.last, yield) && r.dynamic != r.first {
			between(r.first, r.dynamic.Prev(), yield)
		}
	}
}

// between yields the addresses from first to last, beginning at a random one. It returns false if yield has.
func between(first, last netip.Addr, yield func(netip.Addr) bool) bool {
	start := randomBetween(first, last)
	for address := start; ; {
		if !yield(address) {
			return false
		}
		if address == last {
			address = first
		} else {
			address = address.Next()
		}
		if address == start {
			return true
		}
	}
}

func randomBetween(first, last netip.Addr) netip.Addr {
	distance := new(big.Int).Sub(new(big.Int).SetBytes(last.AsSlice()), new(big.Int).SetBytes(first.AsSlice()))
	if !distance.IsUint64() || distance.Uint64() == 1<<64-1 {
		return addressAt(first, new(big.Int).SetUint64(rand.Uint64()))
	}
	return addressAt(first, new(big.Int).SetUint64(rand.Uint64N(distance.Uint64()+1)))
}
