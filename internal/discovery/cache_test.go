package discovery

import (
	"math/rand/v2"
	"testing"

	"github.com/crd-server/crd-server/internal/wire"
)

// incompressible is a block that takes as much memory as its text.
func incompressible(size int) wire.Deflated {
	text := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(text) // never fails
	return wire.DeflateWell(text)
}

func TestCacheKeepsWhatIsUsed(t *testing.T) {
	one := func(names ...string) *part { return &part{paths: incompressible(1000), names: names} }
	c := newPartCache(3 * one().bytes())
	for _, name := range []string{"a", "b", "c"} {
		c.put(partKey{digest: name}, one(name))
	}
	c.get(partKey{digest: "a"})
	c.put(partKey{digest: "d"}, one("d"))
	c.put(partKey{digest: "d"}, one("d"))
	for name, kept := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if got := c.get(partKey{digest: name}) != nil; got != kept {
			t.Errorf("%s: kept %t", name, got)
		}
	}
	c.put(partKey{digest: "huge"}, &part{paths: incompressible(1 << 20)})
	if c.bytes > c.limit || len(c.parts) != c.used.Len() {
		t.Errorf("%d bytes of %d, %d parts, %d in order", c.bytes, c.limit, len(c.parts), c.used.Len())
	}
	for name := range map[string]bool{"a": true, "b": true, "c": true, "d": true, "huge": true} {
		c.forget(name)
	}
	if c.bytes != 0 || len(c.parts) != 0 {
		t.Errorf("%d bytes in %d parts are left", c.bytes, len(c.parts))
	}
}
