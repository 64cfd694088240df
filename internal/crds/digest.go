package crds

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// digest is a hash of the parts of a CRD that appear in discovery documents, or the XOR of the hashes of many CRDs.
// With XOR, adding and removing a CRD is cheap, and replicas with the same CRDs have the same digest.
type digest [16]byte

func digestOf(r *Record) digest {
	h := sha256.New()
	fmt.Fprintf(h, "%q %s %t %t %t", r.Name, r.SpecHash, r.NamesAccepted, r.Established, r.Terminating)
	return digest(h.Sum(nil)[:16])
}

func (d digest) xor(other digest) digest {
	for n := range d {
		d[n] ^= other[n]
	}
	return d
}

func (d digest) String() string { return hex.EncodeToString(d[:]) }
