package discovery

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// block is a piece of text, compressed so that pieces put one after the other are a deflate stream. Documents are kept
// in such pieces: they take a tenth of the memory, and clients that accept gzip are sent them as they are.
type block struct {
	deflated []byte
	size     int64
	checksum uint32
}

// newBlock compresses text.
func newBlock(text []byte) (block, error) {
	buffer := &bytes.Buffer{}
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(buffer)
	_, err := w.Write(text)
	if err == nil {
		// Flushed, not closed: the piece ends at a byte, and another one may follow.
		err = w.Flush()
	}
	if err != nil {
		return block{}, fmt.Errorf("compressing: %w", err)
	}
	return block{deflated: bytes.Clone(buffer.Bytes()), size: int64(len(text)), checksum: crc32.ChecksumIEEE(text)}, nil
}

// copyTo writes the text.
func (b *block) copyTo(w io.Writer) error {
	r := inflaters.Get().(io.ReadCloser)
	defer inflaters.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(b.deflated), nil); err != nil {
		return fmt.Errorf("decompressing: %w", err)
	}
	_, err := io.CopyN(w, r, b.size)
	return err
}

// blockLevel takes half as long as the standard library's fastest level, for two thirds of the size.
const blockLevel = 5

var (
	deflaters = sync.Pool{New: func() any {
		w, err := flate.NewWriter(nil, blockLevel)
		if err != nil {
			panic("discovery: " + err.Error())
		}
		return w
	}}
	inflaters = sync.Pool{New: func() any { return flate.NewReader(bytes.NewReader(nil)) }}
)

// output is a body made of blocks and of short texts between them.
type output interface {
	text(s string) error
	block(b *block) error
	close() error
}

// plainOutput sends what the blocks say.
type plainOutput struct{ w io.Writer }

func (o *plainOutput) text(s string) error {
	_, err := io.WriteString(o.w, s)
	return err
}

func (o *plainOutput) block(b *block) error { return b.copyTo(o.w) }

func (o *plainOutput) close() error { return nil }

// gzipOutput sends the blocks as they are, as one gzip member (RFC 1952).
type gzipOutput struct {
	w        io.Writer
	begun    bool
	size     int64
	checksum uint32
}

func (o *gzipOutput) begin() error {
	if o.begun {
		return nil
	}
	o.begun = true
	_, err := o.w.Write([]byte{0x1f, 0x8b, 8 /* deflate */, 0, 0, 0, 0, 0, 0, 255 /* any system */})
	return err
}

// text puts s into a stored, that is uncompressed block (RFC 1951); it must be shorter than 64 KiB.
func (o *gzipOutput) text(s string) error {
	n := uint16(len(s))
	stored := append([]byte{0, byte(n), byte(n >> 8), byte(^n), byte(^n >> 8)}, s...)
	return o.block(&block{deflated: stored, size: int64(len(s)), checksum: crc32.ChecksumIEEE([]byte(s))})
}

func (o *gzipOutput) block(b *block) error {
	if err := o.begin(); err != nil {
		return err
	}
	o.checksum = joinChecksums(o.checksum, b.checksum, b.size)
	o.size += b.size
	_, err := o.w.Write(b.deflated)
	return err
}

func (o *gzipOutput) close() error {
	if err := o.begin(); err != nil {
		return err
	}
	c, n := o.checksum, uint32(o.size)
	_, err := o.w.Write([]byte{
		1, 0, 0, 0xff, 0xff, // the last block, empty
		byte(c), byte(c >> 8), byte(c >> 16), byte(c >> 24),
		byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24),
	})
	return err
}

// joinChecksums is the CRC-32 of two texts put together, from those of both and the length of the second. A CRC is the
// remainder of a polynomial; appending n bytes multiplies the first one by x to the 8n.
func joinChecksums(first, second uint32, n int64) uint32 {
	factor := uint32(1) << 31 // 1: coefficients are stored lowest first, from the top bit
	for k := 3; n > 0; k, n = k+1, n>>1 {
		if n&1 == 1 {
			factor = multiply(powers[k%len(powers)], factor)
		}
	}
	return multiply(factor, first) ^ second
}

// powers are x to the 1, 2, 4, 8 and so on; they repeat after 32.
var powers = func() (table [32]uint32) {
	table[0] = 1 << 30 // x
	for n := 1; n < len(table); n++ {
		table[n] = multiply(table[n-1], table[n-1])
	}
	return table
}()

// multiply multiplies two polynomials modulo that of CRC-32.
func multiply(a, b uint32) (product uint32) {
	for ; a != 0; a <<= 1 {
		if a&(1<<31) != 0 {
			product ^= b
		}
		if carry := b & 1; carry == 1 {
			b = b>>1 ^ crc32.IEEE
		} else {
			b >>= 1
		}
	}
	return product
}
