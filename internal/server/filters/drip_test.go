package server

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestRefusedBodyThatDrips holds that a request which was refused without reading its body is answered at its deadline, though the body
// never ends.
func TestRefusedBodyThatDrips(t *testing.T) {
	guards, err := newGuards(t.Context(), NewOptions())
	if err != nil {
		t.Fatal(err)
	}
	c := &chain{guards: guards, labels: unlabelled(), requests: &RequestOptions{Timeout: 200 * time.Millisecond}}
	server := httptest.NewServer(begin(c.withDeadline(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
	}))))
	t.Cleanup(server.Close)
	for _, path := range []string{"/apis/example.com/v1/things", "/version"} {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		if _, err := fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx", path); err != nil {
			t.Fatal(err)
		}
		if err := connection.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if resp, err := http.ReadResponse(bufio.NewReader(connection), nil); err != nil {
			t.Errorf("%s: %v", path, err)
		} else if resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}
