package wire

import (
	"bufio"
	"compress/gzip"
	"net/http"
	"sync"

	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/features"
)

// JSON is the media type of what this package writes.
const JSON = "application/json"

// gzipThreshold is the size above which answers are compressed for clients that accept it.
const gzipThreshold = 128 << 10

// plainBuffer is how much is collected before it is written when nothing is compressed.
const plainBuffer = 32 << 10

var gzipWriters = responsewriters.NewGzipWriterPoolOrDie()

// Response sends a body of a size not known beforehand. It holds back what could still turn out to be too short for
// compression, and writes everything beyond that as it comes.
type Response struct {
	w           http.ResponseWriter
	code        int
	contentType string
	// compress says that the client takes gzip, threshold how much is held back.
	compress  bool
	threshold int

	begun   bool
	pending []byte
	gz      *gzip.Writer
}

// NewResponse returns a Response to req. Nothing is sent before its first bytes are known.
func NewResponse(w http.ResponseWriter, req *http.Request, code int, contentType string) *Response {
	r := &Response{w: w, code: code, contentType: contentType, threshold: plainBuffer}
	if responsewriters.ContentEncodingSupported(req, features.APIResponseCompression) == "gzip" {
		r.compress, r.threshold = true, gzipThreshold
	}
	return r
}

// Write takes the next bytes of the body.
func (r *Response) Write(p []byte) (int, error) {
	if r.begun {
		return r.write(p)
	}
	if len(r.pending)+len(p) <= r.threshold {
		if r.pending == nil {
			r.pending = *pendingBuffers.Get().(*[]byte)
		}
		r.pending = append(r.pending, p...)
		return len(p), nil
	}
	if err := r.begin(r.compress); err != nil {
		return 0, err
	}
	return r.write(p)
}

// begin sends the header and what was held back.
func (r *Response) begin(compressed bool) error {
	header := r.w.Header()
	if compressed {
		header.Set("Content-Encoding", "gzip")
		header.Add("Vary", "Accept-Encoding")
		r.gz = gzipWriters.Get().(*gzip.Writer)
		r.gz.Reset(r.w)
	}
	header.Set("Content-Type", r.contentType)
	r.w.WriteHeader(r.code)
	r.begun = true
	pending := r.pending
	r.pending = nil
	if pending == nil {
		return nil
	}
	_, err := r.write(pending)
	pending = pending[:0]
	pendingBuffers.Put(&pending)
	return err
}

func (r *Response) write(p []byte) (int, error) {
	if r.gz != nil {
		return r.gz.Write(p)
	}
	return r.w.Write(p)
}

// Close sends what is held back and ends the body. It must be called once, and nothing may be written after it.
func (r *Response) Close() error {
	if !r.begun {
		return r.begin(false)
	}
	if r.gz == nil {
		return nil
	}
	err := r.gz.Close()
	r.gz.Reset(nil)
	gzipWriters.Put(r.gz)
	r.gz = nil
	return err
}

// pendingBuffers hold back up to the threshold of compression.
var pendingBuffers = sync.Pool{New: func() any {
	buffer := make([]byte, 0, plainBuffer)
	return &buffer
}}

// Buffer returns a buffered writer onto w, and a function that gives it back without flushing it.
func Buffer(w *Response) (*bufio.Writer, func()) {
	buffered := listBuffers.Get().(*bufio.Writer)
	buffered.Reset(w)
	return buffered, func() {
		buffered.Reset(nil)
		listBuffers.Put(buffered)
	}
}

var listBuffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 16<<10) }}

// WriteBody sends a body that is in memory already.
func WriteBody(w http.ResponseWriter, req *http.Request, code int, contentType string, body []byte) error {
	r := Response{w: w, code: code, contentType: contentType}
	compressed := len(body) > gzipThreshold &&
		responsewriters.ContentEncodingSupported(req, features.APIResponseCompression) == "gzip"
	if err := r.begin(compressed); err != nil {
		return err
	}
	if _, err := r.write(body); err != nil {
		return err
	}
	return r.Close()
}
