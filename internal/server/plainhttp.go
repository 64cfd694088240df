package server

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
)

// maxPlainRequest bounds what is read of a request without TLS.
const maxPlainRequest = 64 << 10

// plainHTTPListener lets browsers that do not use TLS get a text. Other clients without TLS get net/http's response.
type plainHTTPListener struct{ net.Listener }

// Accept implements net.Listener.
func (l plainHTTPListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &plainHTTPConn{Conn: connection}, nil
}

// plainHTTPConn is a connection below TLS. It looks at the first bytes only.
type plainHTTPConn struct {
	net.Conn
	begun bool
}

// Read implements net.Conn. After it has answered a browser it returns io.EOF, so that the handshake fails.
func (c *plainHTTPConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.begun || n == 0 {
		return n, err
	}
	c.begun = true
	if !bytes.HasPrefix(p[:n], []byte("GET /")) {
		return n, err
	}
	// The whole request is read, because closing the connection with unread bytes would discard the response.
	rest := io.LimitReader(c.Conn, maxPlainRequest)
	req, readErr := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(p[:n]), rest)))
	if readErr != nil || !isBrowser(req) {
		return n, err
	}
	if err := writeNoTLS(c.Conn); err != nil {
		return 0, err
	}
	return 0, io.EOF
}
