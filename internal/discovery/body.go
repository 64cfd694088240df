package discovery

import (
	"bufio"
	"io"
	"net/http"

	"github.com/crd-server/crd-server/internal/wire"
)

// body is that of an answer, made of documents' blocks and of short texts between them. Blocks are compressed: kept like that they take
// a tenth of the memory, and clients that accept gzip are sent them as they are.
type body interface {
	text(s string) error
	block(b wire.Deflated) error
}

// sendBody sends what write writes, compressed if that is worth it and the client takes it.
func sendBody(w http.ResponseWriter, req *http.Request, worthIt bool, write func(body) error) {
	compressed := worthIt && wire.AcceptsGzip(req)
	if compressed {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Add("Vary", "Accept-Encoding")
	}
	if req.Method == http.MethodHead {
		return
	}
	if writeBody(w, compressed, write) != nil {
		// The client has left, or has to be told that what it got is not all.
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

// separated writes a block after a separator.
func separated(out body, separator string, b wire.Deflated) error {
	if separator != "" {
		if err := out.text(separator); err != nil {
			return err
		}
	}
	return out.block(b)
}

// plainBody sends what the blocks say.
type plainBody struct{ w io.Writer }

func (b plainBody) text(s string) error {
	_, err := io.WriteString(b.w, s)
	return err
}

func (b plainBody) block(d wire.Deflated) error { return d.Inflate(b.w) }

// gzipBody sends the blocks as they are.
type gzipBody struct{ w *wire.Gzip }

func (b gzipBody) text(s string) error {
	_, err := b.w.Write([]byte(s))
	return err
}

func (b gzipBody) block(d wire.Deflated) error { return b.w.WriteDeflated(d) }
