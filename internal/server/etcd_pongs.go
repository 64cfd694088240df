package server

import (
	"bytes"
	"context"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/credentials"
)

// pongDelay is how long etcd waits for the answer to a ping.
//
// The gRPC server in etcd measures how large its window should be: with the first bytes that come while no ping is under way it sends one,
// and counts what comes until it is answered. For a client that asks one thing after the other that is a ping for each request, which
// wakes both processes once more than the request does. An answer that takes its time makes them few. The window becomes no smaller by it,
// rather larger: more bytes come until then. Nobody else waits for these answers but the keepalive of etcd, for 20 seconds.
const pongDelay = 20 * time.Millisecond

// latePongs are credentials whose connections answer pings late.
type latePongs struct {
	credentials.TransportCredentials
}

func (l latePongs) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := l.TransportCredentials.ClientHandshake(ctx, authority, conn)
	if err != nil {
		return nil, nil, err
	}
	return newLatePongConn(conn), info, nil
}

func (l latePongs) Clone() credentials.TransportCredentials {
	return latePongs{l.TransportCredentials.Clone()}
}

// pongLength and pongStart are the frame that answers a ping (RFC 9113, 6.7): PING with the flag ACK, on stream 0, with eight bytes.
const pongLength = 17

var pongStart = []byte{0, 0, 8, 6, 1, 0, 0, 0, 0}

// latePongConn holds back what is written if it is one answer to a ping, and nothing else. Others overtake it, frame by frame.
type latePongConn struct {
	net.Conn

	mu     sync.Mutex // guards all below, and is held while writing
	frames frameCount
	held   []byte
	// timer runs, or has, while something is held; due says that it has. nil before.
	timer *time.Timer
	due   bool
	// err is why what was held could not be sent.
	err error
}

// newLatePongConn returns a connection to which nothing has been written yet.
func newLatePongConn(conn net.Conn) *latePongConn {
	return &latePongConn{Conn: conn, frames: frameCount{left: len(http2.ClientPreface)}}
}

func (c *latePongConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	if len(p) == pongLength && bytes.HasPrefix(p, pongStart) && c.frames.between() {
		c.hold(p)
		return len(p), nil
	}
	c.frames.pass(p)
	n, err := c.Conn.Write(p)
	if err == nil && c.due {
		c.sendHeld()
	}
	return n, err
}

func (c *latePongConn) hold(p []byte) {
	if len(c.held) == 0 {
		if c.timer == nil {
			c.timer = time.AfterFunc(pongDelay, c.end)
		} else {
			c.timer.Reset(pongDelay)
		}
	}
	c.held = append(c.held, p...)
}

// end is the end of the delay.
func (c *latePongConn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = true
	c.sendHeld()
}

// sendHeld sends what is held, unless that would be in the midst of a frame.
func (c *latePongConn) sendHeld() {
	if !c.frames.between() {
		return
	}
	_, c.err = c.Conn.Write(c.held)
	c.held, c.due = c.held[:0], false
}

// frameHeader is the length of a frame's header, in bytes (RFC 9113, 4.1).
const frameHeader = 9

// frameCount knows where frames begin and end in what is written.
type frameCount struct {
	// left is how many bytes are to come until the next frame.
	left int
	// header is what has passed of the next frame's header, while that is not complete.
	header []byte
}

// pass is told what is written.
func (f *frameCount) pass(p []byte) {
	for len(p) > 0 {
		if f.left > 0 {
			n := min(len(p), f.left)
			f.left, p = f.left-n, p[n:]
			continue
		}
		n := min(len(p), frameHeader-len(f.header))
		f.header, p = append(f.header, p[:n]...), p[n:]
		if len(f.header) == frameHeader {
			header, _ := http2.ReadFrameHeader(bytes.NewReader(f.header)) // fails only where bytes are missing
			f.left, f.header = int(header.Length), f.header[:0]
		}
	}
}

// between says that a frame has passed, and nothing of the next one.
func (f *frameCount) between() bool { return f.left == 0 && len(f.header) == 0 }
