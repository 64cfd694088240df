package dynamicstorage

import (
	"encoding/binary"
	"iter"
	"maps"
	"slices"
)

// Pairs are names with their values: the labels or fields of an object. They are one string, a tenth of the size of a
// map. They are immutable, and equal (==) if they have the same names and values. The zero value has none.
type Pairs struct {
	// packed has every name and value, each preceded by its length, in the order of the names.
	packed string
}

// PairsOf returns the pairs of a map.
func PairsOf(m map[string]string) Pairs {
	if len(m) == 0 {
		return Pairs{}
	}
	var stack [8]string
	names := slices.AppendSeq(stack[:0], maps.Keys(m))
	slices.Sort(names)
	size := 0
	for name, value := range m {
		size += len(name) + len(value) + 2
	}
	packed := make([]byte, 0, size)
	for _, name := range names {
		packed = appendSized(packed, name)
		packed = appendSized(packed, m[name])
	}
	return Pairs{packed: string(packed)}
}

func appendSized(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// cutSized returns the first string in packed, and the rest.
func cutSized(packed string) (s, rest string) {
	size, at, shift := 0, 0, 0
	for ; packed[at] >= 0x80; at++ {
		size |= int(packed[at]&0x7f) << shift
		shift += 7
	}
	size |= int(packed[at]) << shift
	at++
	return packed[at : at+size], packed[at+size:]
}

// All returns the names and values, in the order of the names.
func (p Pairs) All() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		var name, value string
		for rest := p.packed; rest != ""; {
			name, rest = cutSized(rest)
			value, rest = cutSized(rest)
			if !yield(name, value) {
				return
			}
		}
	}
}

// Lookup returns the value of a name, and reports whether there is one.
func (p Pairs) Lookup(name string) (value string, ok bool) {
	var n string
	for rest := p.packed; rest != ""; {
		n, rest = cutSized(rest)
		value, rest = cutSized(rest)
		if n == name {
			return value, true
		}
	}
	return "", false
}

// Get returns the value of a name; "" if there is none.
func (p Pairs) Get(name string) string {
	value, _ := p.Lookup(name)
	return value
}

// Has reports whether there is a name.
func (p Pairs) Has(name string) bool {
	_, ok := p.Lookup(name)
	return ok
}
