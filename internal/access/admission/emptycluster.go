package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// emptyCluster takes the place of the host cluster if there is none and this server serves only custom resources.
// Plugins that list and watch webhooks, policies and namespaces find none. When they get a namespace, any name is one,
// as it is for custom resources.
type emptyCluster struct {
	// own is for requests to this server, whose /openapi/v3 has the types of custom resources; nil: no types.
	own http.RoundTripper
}

var _ http.RoundTripper = emptyCluster{}

// config returns the configuration of a client.
func (c emptyCluster) config() *rest.Config {
	return &rest.Config{
		Host:          "http://empty",
		Transport:     c,
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON, AcceptContentTypes: runtime.ContentTypeJSON},
		QPS:           -1,
	}
}

const namespaces = "/api/v1/namespaces/"

// RoundTrip implements http.RoundTripper without a network.
func (c emptyCluster) RoundTrip(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	name, one := strings.CutPrefix(req.URL.Path, namespaces)
	switch {
	case strings.HasPrefix(req.URL.Path, "/openapi/v3") && c.own != nil:
		return c.own.RoundTrip(req)
	case req.URL.Path == "/openapi/v3":
		return answer(req, http.StatusOK, map[string]any{"paths": map[string]any{}})
	case query.Get("sendInitialEvents") == "true":
		// Then an informer lists first.
		return refuse(req, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	case query.Get("watch") == "true":
		return silence(req), nil
	case one && name != "" && !strings.Contains(name, "/"):
		return answer(req, http.StatusOK, namespace(name))
	case isList(req.URL.Path):
		return answer(req, http.StatusOK, metav1.PartialObjectMetadataList{
			ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []metav1.PartialObjectMetadata{}})
	default:
		return refuse(req, http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

// isList reports whether a path is that of a whole resource: /api/v1/<resource> or /apis/<group>/<version>/<resource>.
func isList(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	return parts[0] == "api" && len(parts) == 3 || parts[0] == "apis" && len(parts) == 4
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}},
		Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}
}

func refuse(req *http.Request, code int, reason metav1.StatusReason) (*http.Response, error) {
	return answer(req, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: "there is no host cluster",
	})
}

func answer(req *http.Request, code int, body any) (*http.Response, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return response(req, code, io.NopCloser(bytes.NewReader(encoded))), nil
}

func response(req *http.Request, code int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Body: body, Request: req, ContentLength: -1,
	}
}

// silence is a watch without events. It ends with the request.
func silence(req *http.Request) *http.Response {
	reader, writer := io.Pipe()
	context.AfterFunc(req.Context(), func() { writer.CloseWithError(context.Cause(req.Context())) })
	return response(req, http.StatusOK, reader)
}
