package filters

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/crds"
)

// TestRefusedBodyThatDrips checks that a request that is refused before its body is read gets its response at its
// deadline, although the body never ends.
func TestRefusedBodyThatDrips(t *testing.T) {
	t.Parallel()
	labels := &MetricLabels{Serves: func(*request.RequestInfo) bool { return false }}
	refusing := http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
	})
	server := httptest.NewServer(begin(apifilters.WithRequestDeadline(labels.enforceDeadline(refusing), nil, nil,
		longRunning, crds.Codecs, 200*time.Millisecond), nil))
	t.Cleanup(server.Close)
	for _, path := range []string{"/apis/example.com/v1/things", "/version"} {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		if _, err := fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx",
			path); err != nil {
			t.Fatal(err)
		}
		if resp, err := http.ReadResponse(bufio.NewReader(connection), nil); err != nil {
			t.Errorf("%s: %v", path, err)
		} else if resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}
