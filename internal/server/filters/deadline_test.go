package filters

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// TestDeadlineWithoutConnection checks requests that the server makes to itself: no connection can be closed at the
// deadline.
func TestDeadlineWithoutConnection(t *testing.T) {
	t.Parallel()
	labels := &MetricLabels{Serves: func(*request.RequestInfo) bool { return false }}
	handler := begin(labels.enforceDeadline(http.HandlerFunc(
		func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })), nil)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	req := httptest.NewRequest(http.MethodPost, "/apis/example.com/v1/crontabs",
		bytes.NewReader([]byte("{}"))).WithContext(ctx)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	if w.Code != http.StatusGatewayTimeout {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}
