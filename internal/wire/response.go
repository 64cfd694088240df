package wire

import (
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/features"
)

// JSON is the media type of what this package writes.
const JSON = "application/json"

// GzipThreshold is the size in bytes above which answers are compressed for clients that accept it.
const GzipThreshold = 128 << 10

// AcceptsGzip says whether the client takes compressed answers, and they are switched on.
func AcceptsGzip(req *http.Request) bool {
	return responsewriters.ContentEncodingSupported(req, features.APIResponseCompression) == "gzip"
}

// WriteHeader begins an answer. The body is to be written to w.
func WriteHeader(w http.ResponseWriter, code int, contentType string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
}

// WriteGzip sends an answer whose body is what write writes, compressed. After an error of write the body is not ended, so
// that nobody takes it for a whole one.
func WriteGzip(w http.ResponseWriter, code int, contentType string, write func(*Gzip) error) error {
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Add("Vary", "Accept-Encoding")
	WriteHeader(w, code, contentType)
	return Compress(w, write)
}

// WriteBody sends a body that is in memory already.
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
