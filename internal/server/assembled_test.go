package server

import (
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/crd-server/crd-server/internal/server/datadir"
	"github.com/crd-server/crd-server/internal/server/etcd"
)

// assembled returns the handler of a whole server and the certificates of the administrator. The parts of the server
// run until the test ends. It serves no connections.
func assembled(t testing.TB, configure ...func(*Options)) (http.Handler, []*x509.Certificate) {
	t.Helper()
	o := NewOptions()
	o.Out = io.Discard
	for _, c := range configure {
		c(o)
	}
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	stored, err := etcd.StartEmbedded(t.Context(), dir.Path("etcd"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stored.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	valid, err := o.Validate()
	if err != nil {
		t.Fatal(err)
	}
	files, err := configureAccess(ctx, valid)
	if err != nil {
		t.Fatal(err)
	}
	f := foundation{
		options: valid, configured: files, listener: listener, dir: dir, etcd: stored, stopWorking: cancel,
	}
	s, err := f.assemble(ctx, compose, false)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = s.resources.run(ctx) }) // ends with ctx
	running.Go(func() { s.access.admission.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	id, _, err := s.certify()
	if err != nil {
		t.Fatal(err)
	}
	s.health.finish(started)
	if err := s.becomeReady(ctx, ctx, nil); err != nil {
		t.Fatal(err)
	}
	return s.handler, []*x509.Certificate{id.Admin.Cert}
}

// served sends a request to the handler as the server's own user. It fails the test unless the request succeeds.
func served(t testing.TB, handler http.Handler, method, path, body string) {
	t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body)).WithContext(asOwnRequest(t.Context()))
	req.Header.Set("Content-Type", "application/yaml")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	if w.Code >= 300 {
		t.Fatal(method, path, w.Code, w.Body)
	}
}

// discarding is a response writer that keeps the status only.
type discarding struct {
	header http.Header
	code   int
}

func (d *discarding) Header() http.Header         { return d.header }
func (d *discarding) WriteHeader(code int)        { d.code = code }
func (d *discarding) Write(p []byte) (int, error) { return len(p), nil }
func (d *discarding) Flush()                      {}
