package watch

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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// serveBody serves the watch as the body of a response. It returns an error if the response has not begun.
func (s *session) serveBody(ctx context.Context, w http.ResponseWriter, req *http.Request) error {
	flusher, ok := w.(http.Flusher)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("unable to start watch - can't get http.Flusher: %T", w))
	}
	err := s.open(ctx)
	defer s.close()
	if errors.Is(err, dynamicstorage.ErrUnavailable) {
		return s.APIError(err)
	}
	body := newBodyStream(w, flusher, req, s)
	body.begin(s.deadline)
	defer body.end()
	defer body.failWritesAfter(ctx)()
	s.stream = body
	s.run(ctx, err)
	return nil
}

// errClientGone says that writing to the client has failed.
var errClientGone = errors.New("client went away")

func clientGone(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", errClientGone, err)
	}
	return nil
}

// bodyStream sends frames as the body of a response. It holds buffers and compressors only between the first frame and
// the flush after it: most watches are idle most of the time.
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

var _ stream = &bodyStream{}

func newBodyStream(w http.ResponseWriter, flusher http.Flusher, req *http.Request, s *session) *bodyStream {
	return &bodyStream{
		w:         w,
		flusher:   flusher,
		mediaType: s.encoder.mediaType,
		framer:    s.encoder.framer,
		compress:  s.start.endMark && responsewriters.ContentEncodingSupported(req, features.WatchListCompression) == "gzip",
	}
}

// writeGrace is how long a client that does not read may hold a watch after its deadline.
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
		// Not every ResponseWriter has deadlines. Without one, a client that does not read holds its watch until the
		// connection breaks.
		_ = http.NewResponseController(b.w).SetWriteDeadline(deadline.Add(writeGrace))
	}
	b.w.WriteHeader(http.StatusOK)
	b.flusher.Flush()
}

// endGrace is how long a client that does not read may hold a watch that ends before its deadline: the endpoint was
// replaced, or the server shuts down.
const endGrace = time.Second

// failWritesAfter makes writes fail soon after ctx ends, also one that is blocked. The caller calls stop before the
// handler returns, because the ResponseWriter must not be used afterwards.
func (b *bodyStream) failWritesAfter(ctx context.Context) (stop func()) {
	var mu sync.Mutex // guards stopped, and w against use after stop
	stopped := false
	cancel := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		if !stopped {
			_ = http.NewResponseController(b.w).SetWriteDeadline(time.Now().Add(endGrace))
		}
	})
	return func() {
		cancel()
		mu.Lock()
		defer mu.Unlock()
		stopped = true
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
	_, err := b.frames.Write(frame)
	return clientGone(err)
}

// flush sends the frames that were written. Compressed, they are a gzip member of their own, as upstream sends them.
func (b *bodyStream) flush() error {
	if b.buffer == nil {
		return nil
	}
	err := b.release()
	b.flusher.Flush()
	return clientGone(err)
}

// release writes what is buffered, and returns the buffers to their pools.
func (b *bodyStream) release() error {
	err := b.buffer.Flush()
	b.buffer.Reset(nil)
	streamBuffers.Put(b.buffer)
	b.buffer, b.frames = nil, nil
	if b.gz != nil {
		// Without this flush, readers such as Go's return the data of a member only when the next member begins.
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

// end releases the buffers that the stream still holds.
func (b *bodyStream) end() {
	if b.buffer != nil {
		_ = b.release()
	}
	_ = http.NewResponseController(b.w).SetWriteDeadline(time.Time{})
}

// serveWebSocket serves the watch over a websocket.
func (s *session) serveWebSocket(ctx context.Context, w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", s.encoder.mediaType)
	websocket.Handler(func(conn *websocket.Conn) {
		defer conn.Close()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			// The client has nothing to say, but reading notices when it goes away. Ends when conn is closed.
			defer cancel()
			wsstream.IgnoreReceivesWithLogger(klog.FromContext(ctx), conn, 0)
		}()
		s.stream = &socketStream{conn: conn, text: s.encoder.text}
		err := s.open(ctx)
		defer s.close()
		s.run(ctx, err)
	}).ServeHTTP(w, req)
}

// socketStream sends each frame as a message of a websocket.
type socketStream struct {
	conn *websocket.Conn
	text bool
}

var _ stream = &socketStream{}

func (s *socketStream) write(frame []byte) error {
	if s.text {
		return clientGone(websocket.Message.Send(s.conn, string(frame)))
	}
	return clientGone(websocket.Message.Send(s.conn, frame))
}

func (s *socketStream) flush() error { return nil }
