package fault

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/process"
)

const (
	overloadReads  = 40 // --max-requests-inflight
	overloadWrites = 20 // --max-mutating-requests-inflight
	overloadLimit  = 5 * time.Second
	// overloadObjects of 1 KiB are what a list has.
	overloadObjects = 1000
)

// healthLimit is how long a question for health may take at any time. In the short form others want the processor, too.
func healthLimit() time.Duration { return size(3*time.Second, time.Second) }

// memoryLimit is how much memory the server may take. Beside its own 150 MiB it has room for the bodies in flight, three times each
// (as they came, decoded, encoded), and for what a connection and a watch need.
func memoryLimit(connections int) int64 {
	const mega = 1 << 20
	return 150*mega + overloadWrites*3*3*mega + overloadReads*4*mega + int64(connections)*96<<10
}

// overload is a server that is asked for more than it can do.
type overload struct {
	*testing.T
	server *process.Server
	client *client
	// refused and served count answers, unhinted those with 429 that do not say when to try again.
	refused, served, other, unhinted atomic.Int64
}

// TestOverload asks for ten times as much as is served at one time, in all ways. The server stays in good health, its memory is
// bounded, and what it cannot do it refuses with 429.
func TestOverload(t *testing.T) {
	defer written.outcome(t, time.Now())
	o := &overload{T: t}
	o.server = startServer(t, process.Options{Binary: binary(), DataDir: filepath.Join(t.TempDir(), "data"), Args: []string{everybody,
		"--max-requests-inflight", strconv.Itoa(overloadReads), "--max-mutating-requests-inflight", strconv.Itoa(overloadWrites),
		"--request-timeout", overloadLimit.String()}})
	o.client = newClient(t, o.server)
	o.client.must(t, http.StatusCreated, http.MethodPost, definitions, asJSON, []byte(definition))
	for n := range overloadObjects {
		o.client.must(t, http.StatusCreated, http.MethodPost, cells, asJSON, body(fmt.Sprintf("cell-%04d", n), strings.Repeat("x", 1000), 0))
	}
	t.Run("lists", o.lists)
	t.Run("bodies", o.bodies)
	t.Run("drips", o.drips)
	t.Run("slow readers", o.slowReaders)
	t.Run("watches", o.watches)
}

// under has work done while it is watched how the server is.
func (o *overload) under(t *testing.T, connections int, work func(t *testing.T, ctx context.Context)) {
	t.Helper()
	o.refused.Store(0)
	o.served.Store(0)
	o.other.Store(0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	health, polite := &prober{client: newClient(t, o.server), path: "/readyz"}, &prober{client: newClient(t, o.server), path: cells + "/cell-0000", user: "polite"}
	memory := &peak{pid: o.server.Pid()}
	var watching sync.WaitGroup
	watching.Go(func() { health.probe(ctx) })
	watching.Go(func() { polite.probe(ctx) })
	watching.Go(func() { memory.watch(ctx) })
	work(t, ctx)
	cancel()
	watching.Wait()
	if health.failed > 0 || health.slowest > healthLimit() {
		t.Errorf("health: %v", health)
	}
	if limit := memoryLimit(connections); memory.bytes > limit && !raceDetector() {
		t.Errorf("%d MiB of memory, more than %d", memory.bytes>>20, limit>>20)
	}
	if o.unhinted.Load() > 0 {
		t.Errorf("%d answers with 429 do not say when to try again", o.unhinted.Load())
	}
	written.add(t, "%d served, %d refused with 429, %d other; health: %v; another user: %v; at most %d MiB of memory (limit %d)",
		o.served.Load(), o.refused.Load(), o.other.Load(), health, polite, memory.bytes>>20, memoryLimit(connections)>>20)
}

// raceDetector says that the server was built with it, and so needs many times as much memory.
func raceDetector() bool {
	info, err := buildinfo.ReadFile(binary())
	return err == nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// count notes an answer.
func (o *overload) count(resp *http.Response) {
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		o.refused.Add(1)
		if resp.Header.Get("Retry-After") == "" {
			o.unhinted.Add(1)
		}
	case resp.StatusCode < 300:
		o.served.Add(1)
	default:
		o.other.Add(1)
	}
}

// many has a number of clients of the greedy user send requests, one after the other, for a while.
func (o *overload) many(t *testing.T, ctx context.Context, clients int, method, path string, body []byte) {
	ctx, cancel := context.WithTimeout(ctx, size(4*time.Second, 30*time.Second))
	defer cancel()
	var working sync.WaitGroup
	connections := make([]*client, 8)
	for i := range connections {
		connections[i] = newClient(t, o.server)
	}
	for n := range clients {
		working.Go(func() {
			for ctx.Err() == nil {
				resp, err := connections[n%len(connections)].openAs(ctx, "greedy", method, path, body)
				if err != nil {
					continue
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				o.count(resp)
				if resp.StatusCode == http.StatusTooManyRequests {
					pause(ctx, 50*time.Millisecond) // not what it was told, which is a second
				}
			}
		})
	}
	working.Wait()
}

func (o *overload) lists(t *testing.T) {
	o.under(t, 10, func(t *testing.T, ctx context.Context) { o.many(t, ctx, 10*overloadReads, http.MethodGet, cells, nil) })
}

func (o *overload) bodies(t *testing.T) {
	huge := body("huge", strings.Repeat("x", 3<<20-1000), 0)
	o.under(t, 10, func(t *testing.T, ctx context.Context) {
		o.many(t, ctx, 10*overloadWrites, http.MethodPost, cells+"?dryRun=All", huge)
	})
}

// drips are bodies that come byte by byte. They are cut off when their time is over.
func (o *overload) drips(t *testing.T) {
	const declared = 1000
	o.under(t, overloadWrites, func(t *testing.T, ctx context.Context) {
		o.connections(t, overloadWrites, func(c net.Conn) error {
			began := time.Now()
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nImpersonate-User: greedy\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", cells, declared)
			answered := make(chan error, 1)
			go func() { _, err := http.ReadResponse(bufio.NewReader(c), nil); answered <- err }() // ends with the connection
			for {
				select {
				case <-answered:
					if took := time.Since(began); took > overloadLimit+2*time.Second {
						return fmt.Errorf("a body that drips was cut off after %s", took)
					}
					return nil
				case <-time.After(time.Second):
				}
				if time.Since(began) > overloadLimit+10*time.Second {
					return errors.New("a body that drips is not cut off")
				}
				_, _ = c.Write([]byte("x"))
			}
		})
	})
}

// slowReaders ask for a list of a megabyte and take a byte a second.
func (o *overload) slowReaders(t *testing.T) {
	readers := size(300, 5000)
	o.under(t, readers, func(t *testing.T, ctx context.Context) {
		o.connections(t, readers, func(c net.Conn) error {
			began := time.Now()
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nImpersonate-User: greedy\r\n\r\n", cells)
			for one := make([]byte, 1); ; pause(ctx, time.Second) {
				_ = c.SetReadDeadline(time.Now().Add(overloadLimit))
				if _, err := c.Read(one); err != nil {
					return nil
				}
				if time.Since(began) > overloadLimit+time.Second {
					return nil // what is left is in buffers of the kernel
				}
			}
		})
	})
}

// watches are many, a tenth of which takes nothing, while objects change.
func (o *overload) watches(t *testing.T) {
	watches := size(1000, 10000)
	o.under(t, watches, func(t *testing.T, ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var watching, open sync.WaitGroup
		var events atomic.Int64
		open.Add(watches * 9 / 10)
		var c *client
		for n := range watches * 9 / 10 {
			if n%500 == 0 {
				c = newClient(t, o.server)
			}
			c := c
			pause(ctx, time.Millisecond)
			watching.Go(func() {
				resp, err := c.openAs(ctx, "greedy", http.MethodGet, cells+"?watch=1&fieldSelector=metadata.name%3Dcell-0001", nil)
				open.Done()
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				for lines := bufio.NewReader(resp.Body); ; events.Add(1) {
					if _, err := lines.ReadSlice('\n'); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
						return
					}
				}
			})
		}
		idle := o.dialMany(t, watches/10)
		for _, c := range idle {
			fmt.Fprintf(c, "GET %s?watch=1 HTTP/1.1\r\nHost: x\r\nImpersonate-User: greedy\r\n\r\n", cells)
		}
		open.Wait()
		changes := size(40, 200)
		for n := range changes {
			code, _, err := o.client.do(ctx, http.MethodPatch, cells+"/cell-0001", asMergePatch, fmt.Appendf(nil, `{"spec":{"value":"%d%s"}}`, n, strings.Repeat("y", 1000)))
			if err != nil || code != http.StatusOK {
				t.Errorf("a write beside %d watches: %d %v", watches, code, err)
			}
			pause(ctx, 50*time.Millisecond)
		}
		want := int64(watches*9/10) * int64(changes+1)
		waitFor(t, "all watches have all events", time.Minute, func() bool { return events.Load() >= want })
		cancel()
		watching.Wait()
		o.served.Store(events.Load())
	})
}

// connections runs work on as many connections, which take little at a time.
func (o *overload) connections(t *testing.T, number int, work func(net.Conn) error) {
	var working sync.WaitGroup
	for _, c := range o.dialMany(t, number) {
		working.Go(func() {
			defer c.Close()
			if err := work(c); err != nil {
				t.Error(err)
			}
		})
	}
	working.Wait()
}

// dialMany opens connections that speak HTTP/1.1 and are closed with the test.
func (o *overload) dialMany(t *testing.T, number int) []net.Conn {
	t.Helper()
	config := o.client.http.Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = []string{"http/1.1"}
	dialer := &tls.Dialer{Config: config, NetDialer: &net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		controlErr := raw.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
		return errors.Join(controlErr, err)
	}}}
	all := make([]net.Conn, number)
	for i := range all {
		c, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(o.server.URL, "https://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		all[i] = c
	}
	return all
}

// openAs is open for another user.
func (c *client) openAs(ctx context.Context, user, method, path string, content []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if content != nil {
		req.Header.Set("Content-Type", asJSON)
	}
	if user != "" {
		req.Header.Set("Impersonate-User", user)
	}
	return c.http.Do(req)
}

// prober asks for something ten times a second.
type prober struct {
	client     *client
	path, user string

	asked, failed, refused int
	slowest                time.Duration
}

func (p *prober) String() string {
	return fmt.Sprintf("%d questions, %d refused, %d failed, slowest %s", p.asked, p.refused, p.failed, p.slowest.Round(time.Millisecond))
}

func (p *prober) probe(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
		began := time.Now()
		resp, err := p.client.openAs(ctx, p.user, http.MethodGet, p.path, nil)
		if ctx.Err() != nil {
			return
		}
		p.asked++
		p.slowest = max(p.slowest, time.Since(began))
		switch {
		case err != nil:
			p.failed++
			continue
		case resp.StatusCode == http.StatusTooManyRequests:
			p.refused++
		case resp.StatusCode != http.StatusOK:
			p.failed++
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// peak is the most memory that a process has had.
type peak struct {
	pid   int
	bytes int64
}

func (p *peak) watch(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, 50*time.Millisecond) {
		p.bytes = max(p.bytes, resident(p.pid))
	}
}

// resident is the memory of a process.
func resident(pid int) int64 {
	fields, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	pages := strings.Fields(string(fields))
	if len(pages) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(pages[1], 10, 64)
	return n * int64(os.Getpagesize())
}

// everybody is the argument that lets other users than the admin in.
const everybody = "--authorization-mode=AlwaysAllow"
