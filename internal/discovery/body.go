package discovery

import (
	"bufio"
	"io"
	"net/http"

	"github.com/crd-server/crd-server/internal/wire"
)

// body receives the texts and compressed blocks of a response, in order.
type body interface {
	text(text []byte) error
	block(b wire.Deflated) error
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
		return wire.Compress(w, func(g *wire.Gzip) error { return write(gzipBody{g}) })
	}
	buffered := bufio.NewWriterSize(w, 64<<10)
	if err := write(plainBody{buffered}); err != nil {
		return err
	}
	return buffered.Flush()
}

// plainBody decompresses the blocks.
type plainBody struct{ w io.Writer }

func (b plainBody) text(text []byte) error {
	_, err := b.w.Write(text)
	return err
}

func (b plainBody) block(d wire.Deflated) error { return d.Inflate(b.w) }

// gzipBody compresses the texts.
type gzipBody struct{ w *wire.Gzip }

func (b gzipBody) text(text []byte) error {
	_, err := b.w.Write(text)
	return err
}

func (b gzipBody) block(d wire.Deflated) error { return b.w.WriteDeflated(d) }
