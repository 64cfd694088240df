package wire

import (
	"io"
	"net/http"
	"sync"

	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/features"
)

// JSON is the media type of objects, lists and watch frames.
const JSON = "application/json"

// GzipThreshold is the size in bytes above which responses are compressed for clients that accept gzip.
const GzipThreshold = 128 << 10

// AcceptsGzip says whether the client accepts gzip and the feature APIResponseCompression is on.
func AcceptsGzip(req *http.Request) bool {
	return responsewriters.ContentEncodingSupported(req, features.APIResponseCompression) == "gzip"
}

// WriteHeader begins a response. The caller writes the body to w.
func WriteHeader(w http.ResponseWriter, code int, contentType string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
}

// WriteGzip sends a response and compresses the body that write writes. After an error of write the body has no end,
// so that no client takes it for complete.
func WriteGzip(w http.ResponseWriter, code int, contentType string, write func(*Gzip) error) error {
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Add("Vary", "Accept-Encoding")
	WriteHeader(w, code, contentType)
	return Compress(w, write)
}

// Respond sends a response with this object alone, as Encode returns it.
func (o Object) Respond(w http.ResponseWriter, req *http.Request, code int, pretty bool) error {
	if len(o.Bytes) > maxPooledObject && !pretty {
		return o.respondUncopied(w, req, code)
	}
	buffer := objectBuffers.Get().(*[]byte)
	defer objectBuffers.Put(buffer)
	body := o.Encode((*buffer)[:0], pretty)
	if cap(body) <= maxPooledObject {
		*buffer = body
	}
	return WriteBody(w, req, code, o.MediaType(), body)
}

// objectBuffers hold responses of one object while they are sent.
var objectBuffers = sync.Pool{New: func() any {
	buffer := make([]byte, 0, 4<<10)
	return &buffer
}}

// maxPooledObject is the largest buffer that is reused for other objects.
const maxPooledObject = 64 << 10

// respondUncopied sends a large object without a copy of it: slow readers would hold the copies.
func (o Object) respondUncopied(w http.ResponseWriter, req *http.Request, code int) error {
	texts, size := o.texts(), 0
	for _, text := range texts {
		size += len(text)
	}
	if size > GzipThreshold && AcceptsGzip(req) {
		return WriteGzip(w, code, o.MediaType(), func(compressed *Gzip) error { return writeAll(compressed, texts) })
	}
	WriteHeader(w, code, o.MediaType())
	return writeAll(w, texts)
}

func writeAll(w io.Writer, texts [][]byte) error {
	for _, text := range texts {
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// WriteBody sends a response with a body.
func WriteBody(w http.ResponseWriter, req *http.Request, code int, contentType string, body []byte) error {
	if len(body) > GzipThreshold && AcceptsGzip(req) {
		return WriteGzip(w, code, contentType, func(compressed *Gzip) error {
			_, err := compressed.Write(body)
			return err
		})
	}
	WriteHeader(w, code, contentType)
	_, err := w.Write(body)
	return err
}
