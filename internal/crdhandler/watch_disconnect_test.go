package crdhandler

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/websocket"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

// TestDisconnectedClientsLeaveNothingBehind checks that no goroutine and no watcher is left after clients have
// disconnected from watches of all kinds, and from lists that they have read in part.
func TestDisconnectedClientsLeaveNothingBehind(t *testing.T) {
	r := newReading(t)
	for n := range 20 {
		r.putRaw(fmt.Sprintf("ns/large-%d", n), largeGadget(fmt.Sprintf("large-%d", n), 500<<10))
	}
	transport := &http.Transport{}
	client := &http.Client{Transport: transport}
	// starts the goroutine that requests the revision
	if _, err := r.scope.config.Store.CurrentRevision(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	paths := []string{
		"/gadgets?watch=true",
		"/gadgets?watch=true&resourceVersion=1",
		"/gadgets?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
		"/namespaces/ns/gadgets?watch=true&labelSelector=color%3Dred&timeoutSeconds=500",
		"/gadgets",
		"/gadgets?limit=15",
	}
	ctx, leave := context.WithCancel(t.Context())
	for range 5 {
		for _, path := range paths {
			response, err := client.Do(r.request(ctx, path))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if _, err := response.Body.Read(make([]byte, 1<<10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	var sockets []*websocket.Conn
	for range 5 {
		ws, err := websocket.Dial(strings.Replace(r.url, "http", "ws", 1)+"/gadgets?watch=true", "", "http://localhost")
		if err != nil {
			t.Fatal(err)
		}
		sockets = append(sockets, ws)
	}
	waitFor(t, func() bool { return r.watchers() == 5*(4+1) })

	leave()
	for _, ws := range sockets {
		_ = ws.Close()
	}
	transport.CloseIdleConnections()
	if err := goleak.Find(before); err != nil { // retries for a while
		t.Error(err)
	}
	if n := r.watchers(); n != 0 {
		t.Errorf("%d watchers are left", n)
	}
}

// watchers returns the number of watchers of all resources.
func (r *reading) watchers() int {
	n := 0
	for _, resource := range r.scope.config.Store.Stats().Resources {
		n += resource.Watchers
	}
	return n
}

// largeGadget returns a stored gadget of about size bytes.
func largeGadget(name string, size int) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"%s","namespace":"ns",`+
		`"uid":"uid","labels":{"color":"red"}},`+
		`"spec":{"color":"red","padding":"%s"}}`, name, strings.Repeat("x", size))
}

// TestStuckWatch checks that clients that do not read use no memory besides the ring and the kernel's buffers, do not
// delay other clients, and get all events when they read again.
func TestStuckWatch(t *testing.T) {
	const watches, events, size = 20, 80, 256 << 10 // 20 MB for each; the ring holds 4
	r := newReading(t)
	begin := r.put("ns/a", "red")
	path := fmt.Sprintf("/gadgets?watch=true&resourceVersion=%d", begin)
	var stuck *chunked
	for range watches {
		stuck = r.stuckWatch(path)
	}
	reader := r.watch(path)
	before := liveHeap()
	value := largeGadget("a", size)
	var revisions []string
	for range events {
		revisions = append(revisions, fmt.Sprint(r.putRaw("ns/a", value)))
		if got, ok := reader.next(); !ok || got.Object.GetResourceVersion() != revisions[len(revisions)-1] {
			t.Fatalf("got %v, want the event at %s", got.Type, revisions[len(revisions)-1])
		}
	}
	if grown := liveHeap() - before; grown > 6*events*size { // includes the memory of etcd, which runs in this process
		t.Errorf("the heap has grown by %d MB", grown>>20)
	}
	frames := json.NewDecoder(stuck)
	for _, revision := range revisions {
		var frame struct {
			Type   string
			Object struct {
				Metadata struct{ ResourceVersion string }
			}
		}
		if err := frames.Decode(&frame); err != nil || frame.Type != "MODIFIED" ||
			frame.Object.Metadata.ResourceVersion != revision {
			t.Fatalf("got %s at %s, %v; want the event at %s", frame.Type, frame.Object.Metadata.ResourceVersion, err,
				revision)
		}
	}
}

// TestStuckWatchExpires checks that a watch ends with 410 if etcd has compacted events that its client has not read.
func TestStuckWatchExpires(t *testing.T) {
	t.Parallel()
	r := newReadingOn(t, etcdtest.New(t))
	begin := r.put("ns/a", "red")
	path := fmt.Sprintf("/gadgets?watch=true&resourceVersion=%d", begin)
	stuck := r.stuckWatch(path)
	reader := r.watch(path)
	var last int64
	for range 80 {
		last = r.putRaw("ns/a", largeGadget("a", 256<<10))
		reader.next()
	}
	r.compact(last)
	frames := json.NewDecoder(stuck)
	for {
		var frame struct {
			Type   string
			Object struct{ Code int }
		}
		if err := frames.Decode(&frame); err != nil {
			t.Fatal(err)
		}
		if frame.Type == "ERROR" {
			if frame.Object.Code != http.StatusGone {
				t.Errorf("code %d", frame.Object.Code)
			}
			return
		}
	}
}

// stuckWatch opens a watch. Its events are not read until the returned reader of the body is used.
func (r *reading) stuckWatch(path string) *chunked {
	r.t.Helper()
	base, err := url.Parse(r.url)
	if err != nil {
		r.t.Fatal(err)
	}
	connection, err := net.Dial("tcp", base.Host)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = connection.Close() })
	if err := connection.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		r.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(connection, "GET %s%s HTTP/1.1\r\nHost: %s\r\n\r\n", base.Path, path,
		base.Host); err != nil {
		r.t.Fatal(err)
	}
	return &chunked{connection: connection}
}

// chunked reads the header and the body of a response when it is first used.
type chunked struct {
	connection net.Conn
	response   *http.Response
}

func (c *chunked) Read(p []byte) (n int, err error) {
	if c.response == nil {
		if c.response, err = http.ReadResponse(bufio.NewReader(c.connection), nil); err != nil {
			return 0, err
		}
	}
	return c.response.Body.Read(p)
}
