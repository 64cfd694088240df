package fault

import (
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy forwards connections to an etcd member until they are cut.
type proxy struct {
	listener net.Listener
	to       string

	mu   sync.Mutex // guards the fields below
	down bool
	open map[net.Conn]struct{}

	delay atomic.Int64 // how long what a client sends is held back, in nanoseconds
}

// startProxy starts a proxy, which ends with the test.
func startProxy(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, to: strings.TrimPrefix(to, "http://"), open: map[net.Conn]struct{}{}}
	go p.serve() // ends with the listener
	t.Cleanup(func() {
		listener.Close()
		p.cut()
	})
	return p
}

func (p *proxy) url() string { return "http://" + p.listener.Addr().String() }

func (p *proxy) serve() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.carry(near) // ends when one of the two ends does, or they are cut
	}
}

func (p *proxy) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer far.Close()
	if !p.keep(near, far) {
		return
	}
	defer p.drop(near, far)
	go func() { // ends with the other direction
		_, _ = io.Copy(far, held{near, &p.delay})
		far.Close()
		near.Close()
	}()
	_, _ = io.Copy(near, far)
}

// held is a connection whose data is delayed.
type held struct {
	net.Conn
	delay *atomic.Int64
}

func (h held) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	time.Sleep(time.Duration(h.delay.Load()))
	return n, err
}

// keep records an open connection. It returns false if the proxy is cut.
func (p *proxy) keep(connections ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, connection := range connections {
		p.open[connection] = struct{}{}
	}
	return !p.down
}

func (p *proxy) drop(connections ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, connection := range connections {
		delete(p.open, connection)
	}
}

// cut closes all connections and refuses new ones until heal.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for connection := range p.open {
		connection.Close()
	}
}

func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}
