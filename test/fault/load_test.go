package fault

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// greedy is the user that overloads the server.
const greedy = "greedy"

// load overloads the server.
type load struct {
	task
	// admin is a client that is never refused.
	admin *client
	// served, refused and other count responses; unhinted counts those with 429 and without Retry-After.
	served, refused, other, unhinted atomic.Int64

	mu     sync.Mutex // guards faults
	faults []string
}

// loaded is the result of a load.
type loaded struct {
	Served, Refused, Other, Unhinted int64
	// Faults are the first unexpected events.
	Faults []string
}

// loadWith returns the task of a load.
func loadWith(work func(*load, context.Context) error) func(context.Context, task) (any, error) {
	return func(ctx context.Context, w task) (any, error) {
		admin, err := connectTo(w.URL, w.Kubeconfig)
		if err != nil {
			return nil, err
		}
		l := &load{task: w, admin: admin}
		if err := work(l, ctx); err != nil {
			return nil, err
		}
		return &loaded{Served: l.served.Load(), Refused: l.refused.Load(), Other: l.other.Load(),
			Unhinted: l.unhinted.Load(), Faults: l.faults}, nil
	}
}

func (l *load) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.faults) < 10 {
		l.faults = append(l.faults, fmt.Sprintf(format, args...))
	}
}

// count counts a response.
func (l *load) count(resp *http.Response) {
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		l.refused.Add(1)
		if resp.Header.Get("Retry-After") == "" {
			l.unhinted.Add(1)
		}
	case resp.StatusCode < 300:
		l.served.Add(1)
	default:
		l.other.Add(1)
	}
}

// lists lists all objects with many clients.
func (l *load) lists(ctx context.Context) error { return l.repeat(ctx, http.MethodGet, cells, nil) }

// bodies sends bodies of the maximal size with many clients.
func (l *load) bodies(ctx context.Context) error {
	return l.repeat(ctx, http.MethodPost, cells+"?dryRun=All", body("huge", strings.Repeat("x", 3<<20-1000), 0))
}

// repeat sends a request from many clients, for a while.
func (l *load) repeat(ctx context.Context, method, path string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l.Seconds)*time.Second)
	defer cancel()
	connections := make([]*client, 8)
	for i := range connections {
		var err error
		if connections[i], err = connectTo(l.URL, l.Kubeconfig); err != nil {
			return err
		}
	}
	var working sync.WaitGroup
	for n := range l.Number {
		working.Go(func() {
			for ctx.Err() == nil {
				l.send(ctx, connections[n%len(connections)], method, path, body)
			}
		})
	}
	working.Wait()
	return nil
}

func (l *load) send(ctx context.Context, c *client, method, path string, body []byte) {
	resp, err := c.openAs(ctx, greedy, method, path, asJSON, body)
	if err != nil {
		return // the time is over, or the server closed the connection of a refused body
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	l.count(resp)
	if resp.StatusCode == http.StatusTooManyRequests {
		pause(ctx, 50*time.Millisecond) // less than the second of Retry-After
	}
}

// drips sends bodies byte by byte. The server must cut them off.
func (l *load) drips(ctx context.Context) error {
	return l.connections(ctx, func(c net.Conn) error {
		fmt.Fprintf(c,
			"POST %s HTTP/1.1\r\nHost: x\r\nImpersonate-User: %s\r\nContent-Type: application/json\r\nContent-Length: "+
				"%d\r\n\r\n", cells, greedy, l.Seconds)
		answered := make(chan error, 1)
		// ends with the connection
		go func() { _, err := http.ReadResponse(bufio.NewReader(c), nil); answered <- err }()
		for range l.Seconds {
			select {
			case <-answered:
				return nil
			case <-time.After(time.Second):
			}
			_, _ = c.Write([]byte("x"))
		}
		return fmt.Errorf("a body that drips for %d s is not cut off", l.Seconds)
	})
}

// slowReaders request a list of a megabyte and read a byte a second.
func (l *load) slowReaders(ctx context.Context) error {
	return l.connections(ctx, func(c net.Conn) error {
		began := time.Now()
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nImpersonate-User: %s\r\n\r\n", cells, greedy)
		for one := make([]byte, 1); ; pause(ctx, time.Second) {
			_ = c.SetReadDeadline(time.Now().Add(overloadLimit))
			if _, err := c.Read(one); err != nil {
				return nil
			}
			if time.Since(began) > overloadLimit+time.Second {
				return nil // the rest is in buffers of the kernel
			}
		}
	})
}

// connections opens connections with small buffers and runs work on all of them at once.
func (l *load) connections(ctx context.Context, work func(net.Conn) error) error {
	open := make([]net.Conn, l.Number)
	for i := range open {
		c, err := l.dial(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		open[i] = c
	}
	var working sync.WaitGroup
	for _, c := range open {
		working.Go(func() {
			if err := work(c); err != nil {
				l.fault("%v", err)
			}
		})
	}
	working.Wait()
	return nil
}

// dial opens a connection with a small receive buffer for HTTP/1.1.
func (l *load) dial(ctx context.Context) (net.Conn, error) {
	config := l.admin.http.Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = []string{"http/1.1"}
	dialer := &tls.Dialer{Config: config, NetDialer: &net.Dialer{Control: func(_, _ string,
		raw syscall.RawConn) (err error) {
		controlErr := raw.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET,
				syscall.SO_RCVBUF, 4<<10)
		})
		return errors.Join(controlErr, err)
	}}}
	return dialer.DialContext(ctx, "tcp", strings.TrimPrefix(l.URL, "https://"))
}
