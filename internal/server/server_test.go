package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/server/builtins"
	"github.com/crd-server/crd-server/internal/server/certs"
)

func TestMain(m *testing.M) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// readyLine records the output of a server.
type readyLine struct {
	mu      sync.Mutex // guards printed
	printed bytes.Buffer
	seen    chan struct{} // closed at the first line
}

func (r *readyLine) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.printed.Len() == 0 {
		defer close(r.seen)
	}
	return r.printed.Write(p)
}

func (r *readyLine) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.printed.String()
}

// fakeResources returns a composer of a server of resources with fixed responses. resources serves all below /apis.
func fakeResources(resources http.Handler, synced chan struct{}) composer {
	return func(c *components) (*resourceServer, error) {
		text := func(s string) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s) })
		}
		return &resourceServer{
			resourceHandlers: &resourceHandlers{
				api: text("api"), core: text("core"), groups: text("groups"), resources: resources,
				openAPIV2: text("openapi v2"), openAPIV3: text("openapi v3"),
				paths:    func() []string { return []string{"/apis/example.com"} },
				gatherer: prometheus.NewRegistry(),
				serves:   func(*request.RequestInfo) bool { return false },
			},
			run:         func(ctx context.Context) error { <-ctx.Done(); return nil },
			Controllers: &builtins.Controllers{Prepare: func(context.Context) error { return nil }},
			synced:      synced,
			sizes:       func(string, string) (int, int64) { return 0, 0 },
			ready: func(ctx context.Context) error {
				_, err := c.storage.etcd.Client.Get(ctx, "health")
				return err
			},
		}, nil
	}
}

// runWith validates the options, and runs a server.
func runWith(ctx context.Context, o *Options, compose composer) error {
	valid, err := o.Validate()
	if err != nil {
		return err
	}
	return run(ctx, valid, compose)
}

// testServer is a server that runs in this process.
type testServer struct {
	t       *testing.T
	options *Options
	line    *readyLine
	synced  chan struct{}
	stop    context.CancelFunc
	ended   chan struct{}
	err     error // set when ended is closed
}

// launch starts a server without waiting for it.
func launch(t *testing.T, resources http.Handler, change func(*Options)) *testServer {
	t.Helper()
	line := &readyLine{seen: make(chan struct{})}
	o := NewOptions()
	o.DataDir = filepath.Join(t.TempDir(), "data")
	o.Serving.SecurePort = 0
	o.Out = line
	o.Resources.Builtin = builtin.None // it has no roles and no records of removed users, for which requests wait
	if change != nil {
		change(o)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &testServer{t: t, options: o, line: line, synced: make(chan struct{}), stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		s.err = runWith(ctx, o, fakeResources(resources, s.synced))
	}()
	t.Cleanup(s.shutDown)
	return s
}

// start starts a server and waits until it is ready.
func start(t *testing.T, resources http.Handler, change func(*Options)) *testServer {
	t.Helper()
	s := launch(t, resources, change)
	close(s.synced)
	s.waitReady()
	return s
}

func (s *testServer) waitReady() {
	s.t.Helper()
	select {
	case <-s.line.seen:
	case <-s.ended:
		s.t.Fatalf("server ended: %v", s.err)
	}
}

func (s *testServer) shutDown() {
	s.stop()
	<-s.ended
	if s.err != nil {
		s.t.Errorf("server ended with: %v", s.err)
	}
}

func (s *testServer) admin() *rest.Config {
	s.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(s.options.DataDir, "admin.kubeconfig"))
	if err != nil {
		s.t.Fatal(err)
	}
	return config
}

// as returns a client with a certificate for the user, and the server's URL. The client has no certificate if the name
// is empty.
func (s *testServer) as(name string, groups ...string) (*http.Client, string) {
	s.t.Helper()
	if name == "" {
		return s.withCertificate(nil)
	}
	leaf, _ := clientOf(s.t, s.issuer(), name, groups...)
	return s.withCertificate(leaf)
}

// withCertificate returns a client with the certificate, if it is not nil, and the server's URL.
func (s *testServer) withCertificate(leaf *certs.Pair) (*http.Client, string) {
	s.t.Helper()
	config := s.admin()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(config.CAData)
	security := &tls.Config{RootCAs: pool, ServerName: config.ServerName}
	if leaf != nil {
		pair, err := tls.LoadX509KeyPair(leaf.CertFile, leaf.KeyFile)
		if err != nil {
			s.t.Fatal(err)
		}
		// The client sends the certificate whichever authorities the server names, so that the server has to refuse it.
		security.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	transport := &http.Transport{TLSClientConfig: security, ForceAttemptHTTP2: true,
		DialContext: (&net.Dialer{}).DialContext}
	s.t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client, config.Host
}

// issuer returns an issuer with the server's authority. It uses another directory, because the server has locked the
// data directory.
func (s *testServer) issuer() certs.Issuer {
	s.t.Helper()
	dir := newDataDir(s.t)
	for _, name := range []string{"ca.crt", "ca.key"} {
		content, err := os.ReadFile(filepath.Join(s.options.DataDir, "pki", name))
		if err == nil {
			err = dir.Write(content, "pki", name)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return certs.Issuer{Dir: dir, Now: time.Now}
}

// answer is a response that has been read.
type answer struct {
	code   int
	header http.Header
	body   string
}

// status decodes the body as a Status.
func (a answer) status(t *testing.T) metav1.Status {
	t.Helper()
	var status metav1.Status
	if err := json.Unmarshal([]byte(a.body), &status); err != nil || status.Kind != "Status" {
		t.Fatalf("body is not a Status: %q", a.body)
	}
	return status
}

// do sends a request and reads the response. headers are names and values in turn.
func do(t *testing.T, client *http.Client, method, url string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
	}
	response, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

func TestReadyLine(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(notFound), nil)
	line := s.line.String()
	if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
		t.Errorf("not exactly one line: %q", line)
	}
	for _, part := range []string{"ready after ", s.admin().Host, "; data in " + s.options.DataDir + ";",
		"export KUBECONFIG=" + s.options.DataDir + "/admin.kubeconfig"} {
		if !strings.Contains(line, part) {
			t.Errorf("ready line %q lacks %q", line, part)
		}
	}
}

func TestOtherDataDir(t *testing.T) {
	t.Parallel()
	own, other := newDataDir(t), newDataDir(t)
	file := func(dir string) string { return filepath.Join(dir, certs.KubeconfigFile) }
	for kubeconfig, want := range map[string]string{
		"":                 "",
		file(own.Path()):   "",
		file(other.Path()): other.Path(),
		file(t.TempDir()) + string(os.PathListSeparator) + file(other.Path()): other.Path(),
		filepath.Join(other.Path(), "config"):                                 "",
	} {
		if got := otherDataDir(kubeconfig, own.Path()); got != want {
			t.Errorf("%q: %q, want %q", kubeconfig, got, want)
		}
	}
}

func TestFilePermissions(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(notFound), nil)
	for _, file := range []string{"admin.kubeconfig", "lock", "pki/ca.key", "pki/ca.crt", "pki/serving.key",
		"pki/admin.key"} {
		info, err := os.Stat(filepath.Join(s.options.DataDir, file))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", file, info.Mode())
		}
	}
	for _, dir := range []string{".", "pki"} {
		info, err := os.Stat(filepath.Join(s.options.DataDir, dir))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v", dir, info.Mode())
		}
	}
}

// running returns a composer that replaces what another one runs.
func running(compose composer, run func(ctx context.Context) error) composer {
	return func(c *components) (*resourceServer, error) {
		r, err := compose(c)
		if err == nil {
			r.run = run
		}
		return r, err
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
