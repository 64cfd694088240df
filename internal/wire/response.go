package wire

import (
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
