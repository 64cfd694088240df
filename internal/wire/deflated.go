package wire

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Deflated is compressed text: blocks of RFC 1951 that refer to nothing before them and end at a byte boundary. It
// can be anywhere in any number of responses (Gzip). It is immutable.
type Deflated struct {
	blocks []byte
	sum    checksum
}

// Deflate compresses text. It does not keep text.
func Deflate(text []byte) Deflated {
	d := takeDeflater()
	defer d.giveBack()
	return d.deflate(text)
}

// Size returns the number of bytes of the compressed text.
func (d Deflated) Size() int { return len(d.blocks) }

// Length returns the number of bytes of the text, which must be less than 4 GiB.
func (d Deflated) Length() int64 { return int64(d.sum.length) }

// Inflate writes the text to w.
func (d Deflated) Inflate(w io.Writer) error {
	r := inflaters.Get().(io.ReadCloser)
	defer inflaters.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(d.blocks), nil); err != nil {
		return fmt.Errorf("decompressing: %w", err)
	}
	_, err := io.CopyN(w, r, d.Length())
	return err
}

var inflaters = sync.Pool{New: func() any { return flate.NewReader(bytes.NewReader(nil)) }}

// deflater is a compressor, which takes most of a megabyte. It is never held while a client is written to.
type deflater struct {
	flate *flate.Writer
	out   bytes.Buffer
	// text is an empty buffer for texts that are built before they are compressed.
	text []byte
}

// Level 1 of this compressor makes lists smaller than compress/flate does, in half the time. Higher levels take a
// fifth off the size for two to three times the work.
var deflaters = sync.Pool{New: func() any {
	writer, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return &deflater{flate: writer}
}}

// compressing has an item for each compressor in use. More than one for a processor would only take memory, and make
// all other requests wait longer for a processor.
var compressing = make(chan struct{}, runtime.GOMAXPROCS(0))

// takeDeflater returns a compressor, when fewer than all processors compress. The caller must give it back, and must
// not wait for anything before.
func takeDeflater() *deflater {
	compressing <- struct{}{}
	return deflaters.Get().(*deflater)
}

func (d *deflater) deflate(text []byte) Deflated {
	d.out.Reset()
	d.flate.Reset(&d.out)
	// Writing to memory cannot fail.
	_, _ = d.flate.Write(text)
	_ = d.flate.Flush()
	return Deflated{blocks: slices.Clone(d.out.Bytes()), sum: sumOf(text)}
}

// maxPooledText keeps buffers that very large objects have grown from being held for small ones.
const maxPooledText = 256 << 10

func (d *deflater) giveBack() {
	d.text = d.text[:0]
	if cap(d.text) > maxPooledText {
		d.text = nil
	}
	if d.out.Cap() > maxPooledText {
		d.out = bytes.Buffer{}
	}
	deflaters.Put(d)
	<-compressing
}
