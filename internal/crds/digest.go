package crds

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// digest is a hash of what discovery shows of a CRD, or, xored together, of many. Removing one CRD from the hash of
// thousands is as cheap as adding it, and replicas that show the same CRDs have the same hash.
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
