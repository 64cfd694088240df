package server

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crd-server/crd-server/internal/wire"
)

const (
	// mostHeld is how long what is held back may be, in bytes: the headers of an answer, encrypted.
	mostHeld = 1 << 10
	// heldFor is how long it is held back at least if nothing follows, and twice that at most: a client may take no data at the moment.
	heldFor = 20 * time.Millisecond
)

// joiningListener accepts connections that join the headers of an answer and its body.
type joiningListener struct{ net.Listener }

func (l joiningListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &joiningConn{Conn: conn}, nil
}

// withJoining lets answers tell their connection what is followed by more.
func withJoining(ctx context.Context, conn net.Conn) context.Context {
	secure, ok := conn.(*tls.Conn)
	if !ok {
		return ctx
	}
	joining, ok := secure.NetConn().(*joiningConn)
	if !ok {
		return ctx
	}
	return wire.WithJoiner(ctx, joining)
}

// joiningConn holds back what is followed by more, and sends both with one system call. net/http's HTTP/2 flushes after the headers
// of an answer, and again after its body: the client is woken twice for one object.
type joiningConn struct {
	net.Conn
	// followed: the next write is followed by another.
	followed atomic.Bool

	mu   sync.Mutex // guards all below, and is held while writing
	held []byte
	// holds counts what was held so far.
	holds uint64
	// err is why what was held could not be sent when nothing had followed.
	err error
	// timer runs, if ticking, until it is looked whether what was held last when it was started, looked, still is. It is not started and
	// stopped for each answer: that would wake a thread every time. nil before anything was held.
	timer   *time.Timer
	ticking bool
	looked  uint64
}

// Followed says that the next write is followed at once by another. It never waits.
func (c *joiningConn) Followed() { c.followed.Store(true) }

func (c *joiningConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	if c.followed.Swap(false) && len(c.held) == 0 && len(p) <= mostHeld {
		c.hold(p)
		return len(p), nil
	}
	if len(c.held) == 0 {
		return c.Conn.Write(p)
	}
	held := int64(len(c.held))
	buffers := net.Buffers{c.held, p}
	n, err := buffers.WriteTo(c.Conn)
	c.held = c.held[:0]
	return int(max(n-held, 0)), err
}

func (c *joiningConn) hold(p []byte) {
	c.held = append(c.held, p...)
	c.holds++
	if !c.ticking {
		c.tick()
	}
}

func (c *joiningConn) tick() {
	c.ticking, c.looked = true, c.holds
	if c.timer == nil {
		c.timer = time.AfterFunc(heldFor, c.look)
	} else {
		c.timer.Reset(heldFor)
	}
}

// look sends what nothing has followed.
func (c *joiningConn) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ticking = false
	switch {
	case len(c.held) == 0:
	case c.holds != c.looked:
		c.tick()
	default:
		_, c.err = c.Conn.Write(c.held)
		c.held = c.held[:0]
	}
}
