package crdhandler

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/websocket"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// errClientGone says that the client does not take any more.
var errClientGone = errors.New("client went away")

// bodyStream sends frames as the body of an answer. Buffers and compressors are held only between the first frame
// and the flush after it: most watches are idle most of the time.
type bodyStream struct {
	w         http.ResponseWriter
	flusher   http.Flusher
	mediaType string
	framer    runtime.Framer
	compress  bool

	gz     *gzip.Writer
	buffer *bufio.Writer
	frames io.Writer
}

var _ eventStream = &bodyStream{}

func newBodyStream(w http.ResponseWriter, flusher http.Flusher, req *http.Request, session *watchSession) *bodyStream {
	return &bodyStream{
		w:         w,
		flusher:   flusher,
		mediaType: session.encoder.mediaType,
		framer:    session.encoder.framer,
		compress:  session.start.endMark && responsewriters.ContentEncodingSupported(req, features.WatchListCompression) == "gzip",
	}
}

// writeGrace is how long after the end of a watch a client that does not read may hold it.
const writeGrace = 10 * time.Second

// begin sends the header at once, so that the client knows it is connected.
func (b *bodyStream) begin(deadline time.Time) {
	header := b.w.Header()
	header.Set("Content-Type", b.mediaType)
	header.Set("Transfer-Encoding", "chunked")
	if b.compress {
		header.Set("Content-Encoding", "gzip")
		header.Add("Vary", "Accept-Encoding")
	}
	if !deadline.IsZero() {
		// Not every ResponseWriter can; then a stuck client holds its watch until the connection breaks.
		_ = http.NewResponseController(b.w).SetWriteDeadline(deadline.Add(writeGrace))
	}
	b.w.WriteHeader(http.StatusOK)
	b.flusher.Flush()
}

// endGrace is how long a client that does not read may hold a watch whose end has come early: its serving state was replaced, or
// the server shuts down.
const endGrace = time.Second

// hurryAfter has writes fail soon after ctx ends, even one that is blocked. It is in force until stop is called, which must
// happen before the handler returns: the ResponseWriter is not to be touched afterwards.
func (b *bodyStream) hurryAfter(ctx context.Context) (stop func()) {
	var mu sync.Mutex // guards over
	over := false
	cancel := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			_ = http.NewResponseController(b.w).SetWriteDeadline(time.Now().Add(endGrace))
		}
	})
	return func() {
		cancel()
		mu.Lock()
		defer mu.Unlock()
		over = true
	}
}

var (
	streamBuffers     = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 16<<10) }}
	streamCompressors = responsewriters.NewGzipWriterPoolOrDie()
)

func (b *bodyStream) write(frame []byte) error {
	if b.buffer == nil {
		var out io.Writer = b.w
		if b.compress {
			b.gz = streamCompressors.Get().(*gzip.Writer)
			b.gz.Reset(b.w)
			out = b.gz
		}
		b.buffer = streamBuffers.Get().(*bufio.Writer)
		b.buffer.Reset(out)
		b.frames = b.framer.NewFrameWriter(b.buffer)
	}
	return gone(b.frames.Write(frame))
}

// flush sends what was written. Compressed, that is a gzip member of its own, as upstream sends it.
func (b *bodyStream) flush() error {
	if b.buffer == nil {
		return nil
	}
	err := b.release()
	b.flusher.Flush()
	return gone(0, err)
}

func (b *bodyStream) release() error {
	err := b.buffer.Flush()
	b.buffer.Reset(nil)
	streamBuffers.Put(b.buffer)
	b.buffer, b.frames = nil, nil
	if b.gz != nil {
		// Without the flush, readers such as Go's hand out the data of a member only when the next one begins.
		if err == nil {
			err = b.gz.Flush()
		}
		if closeErr := b.gz.Close(); err == nil {
			err = closeErr
		}
		b.gz.Reset(nil)
		streamCompressors.Put(b.gz)
		b.gz = nil
	}
	return err
}

// end gives back what the stream still holds.
func (b *bodyStream) end() {
	if b.buffer != nil {
		_ = b.release()
	}
	_ = http.NewResponseController(b.w).SetWriteDeadline(time.Time{})
}

func gone(_ int, err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", errClientGone, err)
	}
	return nil
}

// socketStream sends each frame as a message of a websocket.
type socketStream struct {
	ws   *websocket.Conn
	text bool
}

var _ eventStream = &socketStream{}

func (s *socketStream) write(frame []byte) error {
	if s.text {
		return gone(0, websocket.Message.Send(s.ws, string(frame)))
	}
	return gone(0, websocket.Message.Send(s.ws, frame))
}

func (s *socketStream) flush() error { return nil }

// serveWebSocket serves a watch over a websocket.
func (s *requestScope) serveWebSocket(ctx context.Context, w http.ResponseWriter, req *http.Request, session *watchSession) {
	w.Header().Set("Content-Type", session.encoder.mediaType)
	websocket.Handler(func(ws *websocket.Conn) {
		defer ws.Close()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			// Clients have nothing to say; reading tells when they are gone. Ends when ws is closed.
			defer cancel()
			wsstream.IgnoreReceivesWithLogger(klog.FromContext(ctx), ws, 0)
		}()
		session.out = &socketStream{ws: ws, text: session.encoder.text}
		err := session.open(ctx)
		defer session.close()
		session.run(ctx, err)
	}).ServeHTTP(w, req)
}
