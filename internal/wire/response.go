package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// ReadBody reads and closes the body of a request. It returns a Status 413 if the body has more than limit bytes; 0 or
// less means no limit.
func ReadBody(req *http.Request, limit int64) ([]byte, error) {
	defer req.Body.Close()
	var body io.Reader = req.Body
	if limit > 0 {
		body = io.LimitReader(req.Body, limit+1)
	}
	var buffer bytes.Buffer
	if announced := req.ContentLength; announced > 0 && announced <= limit {
		// ReadFrom needs spare capacity to see the end without growing the buffer.
		buffer.Grow(int(announced) + bytes.MinRead)
	}
	if _, err := buffer.ReadFrom(body); err != nil {
		return nil, err
	}
	if limit > 0 && int64(buffer.Len()) > limit {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", limit))
	}
	return buffer.Bytes(), nil
}
