package discovery

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"strconv"
)

// contentHash hashes strings so that where one ends counts.
type contentHash struct {
	hash   hash.Hash
	buffer []byte
}

// newHash begins with what changes documents though no CRD changes: the version of the server.
func newHash(version string) *contentHash {
	h := &contentHash{hash: sha256.New()}
	h.add(version)
	return h
}

func (h *contentHash) add(s string) {
	h.buffer = append(append(strconv.AppendInt(h.buffer[:0], int64(len(s)), 10), ':'), s...)
	h.hash.Write(h.buffer)
}

func (h *contentHash) String() string { return fmt.Sprintf("%X", h.hash.Sum(nil)) }

// digest stands for everything the CRDs say that a version of the group consists of.
func (g *group) digest(version string) string { return g.digests()[version] }

func (g *group) makeDigests() map[string]string {
	digests := map[string]string{}
	for _, version := range g.versions {
		h := newHash(g.name)
		h.add(version)
		for _, record := range g.shownIn(version) {
			h.add(record.Name)
			h.add(record.SpecHash)
		}
		digests[version] = h.String()
	}
	return digests
}
