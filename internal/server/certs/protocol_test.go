package certs

import (
	"crypto/tls"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	cliflag "k8s.io/component-base/cli/flag"
)

// handshake connects a client to a server of c, and returns the state of the connection.
func handshake(t *testing.T, c *Config, client *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	c.BindAddress = net.IPv4(127, 0, 0, 1)
	dir := newDataDir(t)
	id := identityAt(t, dir, time.Now(), func(made *Config) { *made = *c })
	authorities, err := ReadAuthorities(id)
	if err != nil {
		t.Fatal(err)
	}
	serving, err := NewTLS(c, id, Authorities{
		CAContentProvider: dynamiccertificates.NewUnionCAContentProvider(authorities...), Read: authorities,
	})
	if err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	t.Cleanup(func() { _ = near.Close() })
	go func() { // ends with the connection
		_ = tls.Server(far, serving.Config).Handshake() // the client sees the error
		_ = far.Close()
	}()
	client.InsecureSkipVerify = true
	connection := tls.Client(near, client)
	err = connection.Handshake()
	return connection.ConnectionState(), err
}

func TestProtocol(t *testing.T) {
	t.Parallel()
	const suite = tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
	protocol := Protocol{CipherSuites: []string{tls.CipherSuiteName(suite)}, Curves: []int32{int32(tls.CurveP384)}}
	state, err := handshake(t, &Config{Protocol: protocol}, &tls.Config{MaxVersion: tls.VersionTLS12})
	if err != nil || state.CipherSuite != suite || state.CurveID != tls.CurveP384 {
		t.Errorf("suite %s, curve %v: %v", tls.CipherSuiteName(state.CipherSuite), state.CurveID, err)
	}
	newest := Protocol{MinVersion: "VersionTLS13"}
	if _, err := handshake(t, &Config{Protocol: newest}, &tls.Config{MaxVersion: tls.VersionTLS12}); err == nil {
		t.Error("TLS 1.2 was accepted")
	}
	if _, err := handshake(t, &Config{}, &tls.Config{MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 was accepted by default")
	}
	for name, wrong := range map[string]Protocol{
		"--tls-min-version":       {MinVersion: "TLS"},
		"--tls-cipher-suites":     {CipherSuites: []string{"NONE"}},
		"--tls-curve-preferences": {Curves: []int32{99999}},
	} {
		if err := wrong.Validate(); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNamedCertificates checks that a client gets the certificate for the name that it asks for.
func TestNamedCertificates(t *testing.T) {
	t.Parallel()
	other := newDataDir(t)
	identityAt(t, other, time.Now(), nil)
	c := &Config{Named: []cliflag.NamedCertKey{{
		Names: []string{"other.example.com"}, CertFile: other.Path("pki", "serving.crt"),
		KeyFile: other.Path("pki", "serving.key"),
	}}}
	want := certificate(t, other.Path("pki", "serving.crt"))
	for name, is := range map[string]bool{"other.example.com": true, "localhost": false} {
		state, err := handshake(t, c, &tls.Config{ServerName: name})
		if err != nil || state.PeerCertificates[0].Equal(want) != is {
			t.Errorf("%s: %v, error %v", name, state.PeerCertificates, err)
		}
	}
	c.Named[0].KeyFile = filepath.Join(t.TempDir(), "absent")
	if err := c.CheckFiles(); err == nil || !strings.HasPrefix(err.Error(), "--tls-sni-cert-key ") {
		t.Errorf("got %v", err)
	}
}
