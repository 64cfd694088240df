package discovery

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/crd-server/crd-server/internal/wire"
)

// FuzzBlocks writes blocks and a text to both kinds of body.
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
		for w, compressed := range map[io.Writer]bool{&plain: false, &zipped: true} {
			err := writeBody(w, compressed, func(out body) error {
				return errors.Join(out.block(wire.Deflate(first)), out.text([]byte(separator)), out.block(wire.Deflate(second)))
			})
			if err != nil {
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
