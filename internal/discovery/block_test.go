package discovery

import (
	"bytes"
	"compress/gzip"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"
)

// FuzzBlocks joins two texts and a separator in both outputs.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte("one"), []byte("two"), ",")
	f.Add([]byte{}, []byte{}, "")
	f.Add([]byte(strings.Repeat("long and repeated ", 20000)), []byte("short"), "-")
	f.Fuzz(func(t *testing.T, first, second []byte, separator string) {
		if len(separator) > 1000 {
			return
		}
		want := string(first) + separator + string(second)
		var plain, zipped bytes.Buffer
		for _, out := range []output{&plainOutput{w: &plain}, &gzipOutput{w: &zipped}} {
			a, errA := newBlock(first)
			b, errB := newBlock(second)
			if err := errors.Join(errA, errB, out.block(&a), out.text(separator), out.block(&b), out.close()); err != nil {
				t.Fatal(err)
			}
		}
		if plain.String() != want {
			t.Errorf("plain: %q, want %q", plain.String(), want)
		}
		r, err := gzip.NewReader(&zipped)
		if err != nil {
			t.Fatal(err)
		}
		r.Multistream(false)
		unzipped, err := io.ReadAll(r)
		if err != nil || string(unzipped) != want {
			t.Errorf("gzip: %v, %q, want %q", err, unzipped, want)
		}
	})
}

func TestJoinChecksums(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789abcdef"), 70000)
	want := crc32.ChecksumIEEE(text)
	for _, at := range []int{0, 1, 2, 3, 255, 256, 65535, 65536, 1 << 20, len(text) - 1, len(text)} {
		got := joinChecksums(crc32.ChecksumIEEE(text[:at]), crc32.ChecksumIEEE(text[at:]), int64(len(text)-at))
		if got != want {
			t.Errorf("at %d: %x, want %x", at, got, want)
		}
	}
}

func TestCacheKeepsWhatIsUsed(t *testing.T) {
	one := func(names ...string) *part {
		return &part{paths: block{deflated: make([]byte, 1000)}, names: names}
	}
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
	c.put(partKey{digest: "huge"}, &part{paths: block{deflated: make([]byte, 1<<20)}})
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
