package e2e

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/test/process"
)

// attacker is a client that knows only the address of the server and its certificate authority.
type attacker struct {
	*testing.T
	server *process.Server
	admin  *tls.Config
}

func newAttacker(t *testing.T, server *process.Server) attacker {
	t.Helper()
	admin, err := rest.TLSConfigFor(adminConfig(t, server))
	if err != nil {
		t.Fatal(err)
	}
	return attacker{t, server, admin}
}

func (a attacker) address() string { return strings.TrimPrefix(a.server.URL, "https://") }

// stranger is a TLS configuration without a credential.
func (a attacker) stranger() *tls.Config { return &tls.Config{RootCAs: a.admin.RootCAs} }

// handshake tries to connect.
func (a attacker) handshake(config *tls.Config) error {
	connection, err := tls.Dial("tcp", a.address(), config)
	if err != nil {
		return err
	}
	return connection.Close()
}

// TestTLS checks that the server refuses old versions of TLS and weak ciphers.
func TestTLS(t *testing.T) {
	t.Parallel()
	a := newAttacker(t, run(t))
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
		config := a.stranger()
		config.MinVersion, config.MaxVersion = version, version
		err := a.handshake(config)
		if wanted := version >= tls.VersionTLS12; wanted != (err == nil) {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
	for _, suite := range tls.InsecureCipherSuites() {
		config := a.stranger()
		config.MinVersion, config.MaxVersion, config.CipherSuites = tls.VersionTLS10, tls.VersionTLS12,
			[]uint16{suite.ID}
		if a.handshake(config) == nil {
			t.Errorf("%s is accepted", suite.Name)
		}
	}
}

// TestPlaintext speaks HTTP to the TLS port.
func TestPlaintext(t *testing.T) {
	t.Parallel()
	a := newAttacker(t, run(t))
	resp, err := http.Get("http://" + a.address() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("HTTP without TLS: %s %s %v", resp.Status, body, err)
	}
}

// TestStranger requests every kind of path without a credential, and with credentials that anyone can make.
func TestStranger(t *testing.T) {
	t.Parallel()
	server := run(t)
	installSamples(t, server)
	a := newAttacker(t, server)
	forged := a.stranger()
	forged.Certificates = []tls.Certificate{selfSigned(t, "crd-server-admin", "system:masters")}
	credentials := []struct {
		name   string
		config *tls.Config
		header http.Header
	}{
		{"nothing", a.stranger(), nil},
		{"a certificate of nobody", forged, nil},
		{"headers of a proxy", a.stranger(), http.Header{"X-Remote-User": {"admin"},
			"X-Remote-Group": {"system:masters"}}},
		{"impersonation", a.stranger(), http.Header{"Impersonate-User": {"admin"},
			"Impersonate-Group": {"system:masters"}}},
		{"a token", a.stranger(), http.Header{"Authorization": {"Bearer guess"}}},
		{"a password", a.stranger(), http.Header{"Authorization": {"Basic YWRtaW46YWRtaW4="}}},
	}
	paths := []string{
		"/", "/api", "/apis", "/apis/stable.example.com/v1/crontabs", "/apis/stable.example.com/v1/crontabs?watch=true",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/openapi/v2", "/openapi/v3", "/version", "/metrics",
		"/metrics/slis",
		"/debug/pprof/", "/debug/pprof/heap", "/debug/flags/v", "/flagz", "/statusz", "/configz", "/healthz/etcd",
		"/nothing",
	}
	for _, c := range credentials {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: c.config, ForceAttemptHTTP2: true}}
		defer client.CloseIdleConnections()
		for _, path := range paths {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.header != nil {
				req.Header = c.header.Clone()
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("with %s, GET %s is answered %s", c.name, path, resp.Status)
			}
		}
	}
}

// selfSigned returns a self-signed certificate.
func selfSigned(t *testing.T, name, group string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: name, Organization: []string{group}},
		NotBefore:    time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// raw sends bytes over a connection with the admin certificate, and returns the status codes and bodies of all
// responses until the server closes it.
func (a attacker) raw(text string) (codes []int, bodies string) {
	a.Helper()
	config := a.admin.Clone()
	config.NextProtos = []string{"http/1.1"}
	connection, err := tls.Dial("tcp", a.address(), config)
	if err != nil {
		a.Fatal(err)
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(patience)); err != nil {
		a.Fatal(err)
	}
	go func() { _, _ = io.WriteString(connection, text) }() // ends with the connection; the server need not read it all
	reader := bufio.NewReader(connection)
	for {
		resp, err := http.ReadResponse(reader, nil)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(*net.OpError)) {
			return codes, bodies
		}
		if err != nil {
			a.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body) // the part that was sent
		codes, bodies = append(codes, resp.StatusCode), bodies+string(body)
	}
}

// TestSmuggling sends requests whose end is ambiguous. If the server and a proxy in front of it disagreed about the
// end, one user could send requests as another.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	server := run(t)
	installSamples(t, server)
	a := newAttacker(t, server)
	const (
		post = "POST /apis/stable.example.com/v1/namespaces/default/crontabs HTTP/1.1\r\nHost: crds\r\nContent-Type: " +
			"application/json\r\n"
		hidden = "GET /version HTTP/1.1\r\nHost: crds\r\nConnection: close\r\n\r\n"
	)
	tests := []struct {
		name, request string
		code          int
	}{
		{"two lengths", post + "Content-Length: 2\r\nContent-Length: 50\r\n\r\n{}" + hidden, 400},
		{"a length that is none", post + "Content-Length: +2\r\n\r\n{}" + hidden, 400},
		{"a list of lengths", post + "Content-Length: 2, 50\r\n\r\n{}" + hidden, 400},
		{"a blank before the colon", post + "Content-Length : 2\r\n\r\n{}" + hidden, 400},
		{"an unknown encoding", post + "Transfer-Encoding: xchunked\r\n\r\n" + hidden, 501},
		{"two encodings", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + hidden,
			501},
		// as upstream
		{"a chunk without a size", post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n" + hidden, 500},
		{"two hosts", "GET /version HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + hidden, 400},
		{"no host", "GET /version HTTP/1.1\r\n\r\n" + hidden, 400},
		{"a line break in the path", "GET /version\rX: HTTP/1.1\r\nHost: crds\r\n\r\n" + hidden, 400},
		{"a header with a NUL", "GET /version HTTP/1.1\r\nHost: crds\r\nX: a\x00b\r\n\r\n" + hidden, 400},
	}
	for _, test := range tests {
		codes, _ := a.raw(test.request)
		if len(codes) != 1 || codes[0] != test.code {
			t.Errorf("%s: answered %v, want only %d", test.name, codes, test.code)
		}
	}
	// With a length and chunks, chunks count (RFC 9112, 6.3), and the server does not read what follows as another
	// request.
	const chunked = "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
	if codes, bodies := a.raw(post + chunked + hidden); len(codes) > 2 || codes[0] != http.StatusBadRequest {
		t.Errorf("a length and chunks: answered %v\n%s", codes, bodies)
	}
	livesOn(t, server)
}

// TestTraversal requests an object through paths that lead around its namespace, and paths outside the API.
func TestTraversal(t *testing.T) {
	t.Parallel()
	server := run(t)
	installSamples(t, server)
	const marker = "registry.example.com/treasure"
	hidden := readManifests(t, "../../config/samples/objects/crontabs.yaml")[0]
	hidden.SetNamespace("vault")
	hidden.SetName("treasure")
	hidden.Object["spec"].(map[string]any)["image"] = marker
	vault := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vault"}}
	if _, err := clientset(t, adminConfig(t, server)).CoreV1().Namespaces().Create(t.Context(), vault,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	crontabs := dynamicClient(t, server).Resource(resources["CronTab"])
	if _, err := crontabs.Namespace("vault").Create(t.Context(), hidden, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	a := newAttacker(t, server)
	const open = "/apis/stable.example.com/v1/namespaces/default/crontabs/"
	for _, path := range []string{
		open + "../../vault/crontabs/treasure", open + "..%2fvault%2ftreasure", open + "..%2Fvault%2Ftreasure", open +
			"%2e%2e/vault/treasure",
		open + "..%5cvault%5ctreasure", open + "%00treasure", open + "treasure%00", open + "..;/vault/treasure", open +
			".", open + "..",
		"/apis/stable.example.com/v1/namespaces/default%2f..%2fvault/crontabs/treasure",
		"/apis/stable.example.com/v1/namespaces/..%2fcrontabs%2fvault/crontabs/treasure",
		"/apis/stable.example.com/v1/namespaces/../crontabs/vault/treasure",
		"/apis/..%2f..%2fetc%2fpasswd", "/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "//etc/passwd",
		"/debug/pprof/../../etc/passwd",
	} {
		codes, bodies := a.raw("GET " + path + " HTTP/1.1\r\nHost: crds\r\nConnection: close\r\n\r\n")
		if len(codes) != 1 || codes[0] < 300 || codes[0] >= 500 || strings.Contains(bodies, marker) ||
			strings.Contains(bodies, "root:") {
			t.Errorf("GET %s: %v\n%s", path, codes, bodies)
		}
	}
	for _, name := range []string{"..", ".", "../vault/treasure", "a/b", "a%2fb", "a\x00b", "%2e%2e"} {
		hidden.SetName(name)
		if _, err := crontabs.Namespace("default").Create(t.Context(), hidden, metav1.CreateOptions{}); err == nil {
			t.Errorf("an object may be named %q", name)
		}
	}
	livesOn(t, server)
}

// TestOversized sends headers, paths and bodies that are far too large.
func TestOversized(t *testing.T) {
	t.Parallel()
	server := run(t)
	installSamples(t, server)
	a := newAttacker(t, server)
	const large = 8 << 20
	tests := []struct {
		name, request string
		code          int
	}{
		{"header", "GET /version HTTP/1.1\r\nHost: crds\r\nX-Large: " + strings.Repeat("x", large) + "\r\n\r\n", 431},
		{"number of headers", "GET /version HTTP/1.1\r\nHost: crds\r\n" + strings.Repeat("X-Many: y\r\n", large/11) +
			"\r\n", 431},
		{"path", "GET /" + strings.Repeat("x", large) + " HTTP/1.1\r\nHost: crds\r\n\r\n", 431},
		{"body", "POST /apis/stable.example.com/v1/namespaces/default/crontabs HTTP/1.1\r\nHost: crds\r\nConnection: " +
			"close\r\nContent-Type: application/json\r\n" +
			"Content-Length: " + strconv.Itoa(large) + "\r\n\r\n" + strings.Repeat(" ", large), 413},
	}
	for _, test := range tests {
		codes, bodies := a.raw(test.request)
		// There is no response if the server has closed the connection before it got everything, which resets the
		// connection.
		if len(codes) > 1 || len(codes) == 1 && codes[0] != test.code {
			t.Errorf("a large %s: %v %.200s", test.name, codes, bodies)
		}
	}
	client, err := rest.HTTPClientFor(adminConfig(t, server)) // HTTP/2
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/version", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Large", strings.Repeat("x", large))
	if resp, err := client.Do(req); err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a large header over HTTP/2: %s", resp.Status)
		}
	}
	livesOn(t, server)
}
