package server

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	apifilters "k8s.io/apiserver/pkg/endpoints/filters"
)

const (
	// aboutServer is for people who open the server in a browser.
	aboutServer = `This is crd-server. It serves Kubernetes CustomResourceDefinitions and custom resources to kubectl
and other clients of Kubernetes. It has no pages for browsers.

Set KUBECONFIG to the file that the server names when it is ready, admin.kubeconfig in its data directory. Then:

    kubectl get crd
    kubectl api-resources
`
	// aboutTLS follows for those who have opened a URL that begins with http.
	aboutTLS = `
The URL of this server begins with https://, not with http://.
`
)

// isBrowser reports whether a request is the first of a browser: that asks for HTML before anything else.
func isBrowser(req *http.Request) bool {
	first, _, _ := strings.Cut(req.Header.Get("Accept"), ",")
	mediaType, _, err := mime.ParseMediaType(first)
	return err == nil && mediaType == "text/html" && req.Method == http.MethodGet && req.URL.Path == "/"
}

// unauthorized refuses requests without a valid credential: with a text for browsers, and with a Status for others.
func unauthorized(codecs runtime.NegotiatedSerializer) http.Handler {
	refuse := apifilters.Unauthorized(codecs)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !isBrowser(req) {
			refuse.ServeHTTP(w, req)
			return
		}
		header := w.Header()
		header.Set("Content-Type", "text/plain; charset=utf-8")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Connection", "close") // like refuse: HTTP/2 is expensive
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, aboutServer)
	})
}

// writeNoTLS answers the request of a browser that has come without TLS.
func writeNoTLS(w io.Writer) error {
	text := aboutServer + aboutTLS
	return (&http.Response{
		StatusCode: http.StatusBadRequest, ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		ContentLength: int64(len(text)), Body: io.NopCloser(strings.NewReader(text)),
		Close: true,
	}).Write(w)
}
