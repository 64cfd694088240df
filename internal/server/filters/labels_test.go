package filters

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// TestLabelsOfRefusals checks that requests for served paths and resources keep their labels when they are refused.
func TestLabelsOfRefusals(t *testing.T) {
	t.Parallel()
	l := &MetricLabels{Paths: []string{"/healthz"},
		Serves: func(info *request.RequestInfo) bool { return info.APIGroup == "example.com" }}
	for _, of := range []struct{ path, group, shown string }{
		{"/healthz", "", "/healthz"}, {"/healthzz", "", ""},
		{"/apis/example.com/v1/things", "example.com", "/apis/example.com/v1/things"},
		{"/apis/example.org/v1/things", "", ""},
	} {
		info, err := l.NewRequestInfo(httptest.NewRequest(http.MethodGet, of.path, nil))
		if err != nil || info.APIGroup != of.group || info.Path != of.shown || info.Verb == "" {
			t.Errorf("%s: %+v, %v", of.path, info, err)
		}
	}
}
