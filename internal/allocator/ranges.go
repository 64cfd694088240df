package allocator

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// ipRange is a range of cluster IPs. Numbers count its addresses from that of the network, which is 0.
type ipRange struct {
	prefix netip.Prefix
	// dynamic and last are numbers. Services may have the addresses from 1 to last. Those from dynamic on are given to
	// Services that name none, while there are any.
	dynamic, last uint64
}

// minIPv6Bits is the shortest prefix of a range of IPv6, as in kube-apiserver. So numbers of addresses have 64 bits.
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
		if prefix.Bits() > prefix.Addr().BitLen()-2 {
			return nil, fmt.Errorf("%q has too few addresses", part)
		} else if !prefix.Addr().Is4() && prefix.Bits() < minIPv6Bits {
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
	bits := prefix.Addr().BitLen() - prefix.Bits()
	r := &ipRange{prefix: prefix.Masked(), dynamic: 1, last: 1<<bits - 1}
	if prefix.Addr().Is4() {
		r.last-- // the last one is for broadcasts
	}
	if bits > 4 {
		r.dynamic += min(max(uint64(1)<<(bits-4), minReserved), maxReservedIPs)
	}
	return r
}

// Bounds of the number of addresses or ports at the beginning of a range that Services are not given unless they name
// one.
const (
	minReserved      = 16
	maxReservedIPs   = 256
	maxReservedPorts = 128
)

// at returns the address with a number.
func (r *ipRange) at(number uint64) netip.Addr {
	bytes := r.prefix.Addr().AsSlice()
	for n := len(bytes) - 1; number > 0; n-- {
		bytes[n] |= byte(number)
		number >>= 8
	}
	address, _ := netip.AddrFromSlice(bytes)
	return address
}

// has reports whether a Service may have an address.
func (r *ipRange) has(address netip.Addr) bool {
	return !address.Less(r.at(1)) && !r.at(r.last).Less(address)
}

// family returns the IP family of the range.
func (r *ipRange) family() corev1.IPFamily { return familyOf(r.prefix.Addr()) }

func familyOf(address netip.Addr) corev1.IPFamily {
	if address.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

// candidates returns the numbers to try for a Service that names none: those from dynamic to last, and then those from
// first on. Both parts begin at a random number.
func candidates(first, dynamic, last uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for _, part := range [][2]uint64{{dynamic, last + 1}, {first, dynamic}} {
			size := part[1] - part[0] // also if last + 1 has overflowed
			if size == 0 {
				continue
			}
			number := rand.Uint64N(size)
			for range size {
				if !yield(part[0] + number) {
					return
				}
				number = (number + 1) % size
			}
		}
	}
}
