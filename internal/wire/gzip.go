package wire

import (
	"bufio"
	"encoding/binary"
	"io"
	"sync"
)

// Gzip writes one gzip member (RFC 1952) of texts that are compressed one by one, some of them in advance. Its memory
// does not grow with the number of bytes, and it holds no compressor while a slow client is written to.
type Gzip struct {
	w   *bufio.Writer
	sum checksum
}

// storedText is the length of the longest text that is not compressed.
const storedText = 256

// deflatedText is the length of the longest text that is compressed at once.
const deflatedText = 256 << 10

// gathered is the number of bytes that are written at once.
const gathered = 32 << 10

var gzipBuffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, gathered) }}

// gzipHead says: deflate, no flags, no time, unknown operating system.
var gzipHead = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

// Compress calls write and compresses what it writes to w. After an error of write the member has no end.
func Compress(w io.Writer, write func(*Gzip) error) error {
	body := newGzip(w)
	defer body.release()
	if err := write(body); err != nil {
		return err
	}
	return body.end()
}

// newGzip begins a member. The caller must release it.
func newGzip(w io.Writer) *Gzip {
	buffer := gzipBuffers.Get().(*bufio.Writer)
	buffer.Reset(w)
	_, _ = buffer.Write(gzipHead) // fits the buffer
	return &Gzip{w: buffer, sum: emptyChecksum}
}

// release returns the buffer to its pool and discards its content.
func (g *Gzip) release() {
	g.w.Reset(nil)
	gzipBuffers.Put(g.w)
	g.w = nil
}

// Write compresses p without regard to earlier texts, so p should be large.
func (g *Gzip) Write(p []byte) (int, error) {
	if len(p) <= storedText {
		return g.store(p)
	}
	written := 0
	for written < len(p) {
		n := min(len(p)-written, deflatedText)
		if err := g.WriteDeflated(Deflate(p[written : written+n])); err != nil {
			return written, err
		}
		written += n
	}
	return written, nil
}

// store writes a short text as a block that is not compressed.
func (g *Gzip) store(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := g.blockHead(0, len(p)); err != nil {
		return 0, err
	}
	g.sum = g.sum.join(sumOf(p))
	return g.w.Write(p)
}

// blockHead begins a stored block of n bytes. final is 1 for the last block of the member.
func (g *Gzip) blockHead(final byte, n int) error {
	head := append(g.w.AvailableBuffer(), final)
	head = binary.LittleEndian.AppendUint16(head, uint16(n))
	head = binary.LittleEndian.AppendUint16(head, ^uint16(n))
	_, err := g.w.Write(head)
	return err
}

// WriteDeflated writes compressed text.
func (g *Gzip) WriteDeflated(d Deflated) error {
	g.sum = g.sum.join(d.sum)
	_, err := g.w.Write(d.blocks)
	return err
}

// end ends the member and writes the rest of it.
func (g *Gzip) end() error {
	if err := g.blockHead(1, 0); err != nil {
		return err
	}
	tail := binary.LittleEndian.AppendUint32(g.w.AvailableBuffer(), g.sum.crc)
	tail = binary.LittleEndian.AppendUint32(tail, g.sum.length)
	if _, err := g.w.Write(tail); err != nil {
		return err
	}
	return g.w.Flush()
}
