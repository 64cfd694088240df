package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// listenedConn is a connection that keeps the bytes that were read from it.
type listenedConn struct {
	net.Conn
	mu   sync.Mutex // guards read
	read bytes.Buffer
}

func (c *listenedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read.Write(p[:n])
	return n, err
}

// largestRecord returns the size of the largest record of TLS that was read.
func (c *listenedConn) largestRecord() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	largest := 0
	const header = 5 // a type, a version of two bytes, a length of two (RFC 8446, 5.1)
	for rest := c.read.Bytes(); len(rest) >= header; {
		length := int(binary.BigEndian.Uint16(rest[3:header]))
		largest = max(largest, length)
		rest = rest[min(header+length, len(rest)):]
	}
	return largest
}

// TestResponseIsOneTLSRecord checks that a response that fits into one TLS record is sent as one, on a new connection
// too. A client cannot use a part of an object, so small records would only delay it.
func TestResponseIsOneTLSRecord(t *testing.T) {
	t.Parallel()
	const size = 10 << 10
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat("x", size))) // the client checks the length
	}), nil)
	client, url := s.as("root", "system:masters")
	var connection *listenedConn
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		connection = &listenedConn{Conn: conn}
		return connection, err
	}
	if got := do(t, client, http.MethodGet, url+"/apis/example.com/v1/things"); len(got.body) != size {
		t.Fatalf("%d, %d bytes", got.code, len(got.body))
	}
	if largest := connection.largestRecord(); largest < size {
		t.Errorf("the largest record has %d bytes, fewer than the %d of the answer", largest, size)
	}
}
