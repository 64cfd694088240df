package wire

import (
	"io"
	"net/http"

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

// WriteObject sends a response with an object, as WriteBody does with its Encode, but without a copy of the object. It is
// for large ones: slow readers would hold the copies.
func WriteObject(w http.ResponseWriter, req *http.Request, code int, o Object) error {
	texts, size := o.texts(), 0
	for _, text := range texts {
		size += len(text)
	}
	if size > GzipThreshold && AcceptsGzip(req) {
		return WriteGzip(w, code, JSON, func(compressed *Gzip) error { return writeAll(compressed, texts) })
	}
	WriteHeader(w, code, JSON)
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
