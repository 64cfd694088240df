package discovery

import (
	"bufio"
	"io"
	"net/http"

	"github.com/crd-server/crd-server/internal/wire"
)

// body is the body of a response, to which texts and compressed blocks are written in order.
type body struct {
	io.Writer
	// gzip is the Writer of a compressed response; nil of others.
	gzip *wire.Gzip
}

// text compresses a text if the response is compressed.
func (b body) text(text []byte) error {
	_, err := b.Write(text)
	return err
}

// block decompresses a block unless the response is compressed.
func (b body) block(d wire.Deflated) error {
	if b.gzip != nil {
		return b.gzip.WriteDeflated(d)
	}
	return d.Inflate(b.Writer)
}

// sendBody sends what write writes, compressed if the client accepts that. An error of write ends the connection, so
// that the client does not take the response for complete.
func sendBody(w http.ResponseWriter, req *http.Request, write func(body) error) {
	compressed := wire.AcceptsGzip(req)
	if compressed {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Add("Vary", "Accept-Encoding")
	}
	if req.Method == http.MethodHead {
		return
	}
	if writeBody(w, compressed, write) != nil {
		panic(http.ErrAbortHandler)
	}
}

func writeBody(w io.Writer, compressed bool, write func(body) error) error {
	if compressed {
		return wire.Compress(w, func(g *wire.Gzip) error { return write(body{g, g}) })
	}
	buffered := bufio.NewWriterSize(w, 64<<10)
	if err := write(body{Writer: buffered}); err != nil {
		return err
	}
	return buffered.Flush()
}
