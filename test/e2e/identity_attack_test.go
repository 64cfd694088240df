package e2e

import (
	"bufio"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// authority signs certificates that no server should have signed.
type authority struct {
	*testing.T
	certificate *x509.Certificate
	key         crypto.Signer
}

// readAuthority returns the generated authority of a data directory.
func readAuthority(t *testing.T, dataDir string) *authority {
	t.Helper()
	certificates, err := cert.CertsFromFile(filepath.Join(dataDir, "pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := keyutil.PrivateKeyFromFile(filepath.Join(dataDir, "pki", "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t, certificates[0], key.(crypto.Signer)}
}

// newAuthority returns an authority with a common name, and writes its certificate to a file.
func newAuthority(t *testing.T, name string) (a *authority, file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name}, key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := cert.EncodeCertificates(made)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	return &authority{t, made, key}, file
}

// client signs a client certificate, which change may make unusual.
func (a *authority) client(name string, groups []string, change func(*x509.Certificate)) tls.Certificate {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		a.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// signer returns an authority that signs with the key of a certificate.
func (a *authority) signer(certificate tls.Certificate) *authority {
	a.Helper()
	parsed, err := x509.ParseCertificate(certificate.Certificate[0])
	if err != nil {
		a.Fatal(err)
	}
	return &authority{a.T, parsed, certificate.PrivateKey.(crypto.Signer)}
}

// masters is the group that may do everything.
var masters = []string{"system:masters"}

// with sends a request with a certificate as it stands, and returns the status code, the header and the body.
func (a attacker) with(certificate tls.Certificate, request string) (code int, header http.Header, body string) {
	a.Helper()
	config := a.stranger()
	// Go's client leaves out a certificate that the server has not asked for.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
	connection, err := tls.Dial("tcp", a.address(), config)
	if err != nil {
		a.Fatal(err)
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(patience)); err != nil {
		a.Fatal(err)
	}
	if _, err := io.WriteString(connection, request); err != nil {
		a.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		a.Fatalf("%q: %v", request, err)
	}
	defer response.Body.Close()
	read, _ := io.ReadAll(response.Body) // the part that was sent
	return response.StatusCode, response.Header, string(read)
}

// get is a request for a path, with more headers.
func get(path string, headers ...string) string {
	return "GET " + path + " HTTP/1.1\r\nConnection: close\r\n" +
		strings.Join(append([]string{"Host: crds"}, headers...), "\r\n") + "\r\n\r\n"
}

// expired makes a certificate one that has expired.
func expired(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }

// treasure is in a Secret that only system:masters may read.
const treasure = "dHJlYXN1cmU="

// besieged starts a server that trusts a front proxy, and stores the treasure in kube-system.
func besieged(t *testing.T) (a attacker, ours, proxies *authority) {
	t.Helper()
	proxies, file := newAuthority(t, "proxies")
	server := run(t, "--requestheader-client-ca-file="+file, "--requestheader-allowed-names=front",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-uid-headers=X-Remote-Uid", "--requestheader-extra-headers-prefix=X-Remote-Extra-")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "treasure"}, Data: map[string][]byte{"it": []byte("treasure")},
	}
	secrets := clientset(t, adminConfig(t, server)).CoreV1().Secrets("kube-system")
	if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return newAttacker(t, server), readAuthority(t, server.DataDir), proxies
}

const treasurePath = "/api/v1/namespaces/kube-system/secrets/treasure"

// TestForgedCertificates presents certificates that name a user of system:masters and must not be accepted.
func TestForgedCertificates(t *testing.T) {
	t.Parallel()
	a, ours, proxies := besieged(t)
	stranger, _ := newAuthority(t, ours.certificate.Subject.CommonName)
	jane := ours.client("jane", nil, nil)
	byJane := ours.signer(jane).client("root", masters, nil)
	byJane.Certificate = append(byJane.Certificate, jane.Certificate...)
	for _, test := range []struct {
		name        string
		certificate tls.Certificate
		code        int
	}{
		{"the usual one, which is accepted", ours.client("root", masters, nil), 200},
		{"for servers", ours.client("root", masters, func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}), 401},
		{"for code", ours.client("root", masters, func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}
		}), 401},
		{"expired", ours.client("root", masters, expired), 401},
		{"not yet valid", ours.client("root", masters, func(c *x509.Certificate) {
			c.NotBefore = time.Now().Add(30 * time.Minute)
		}), 401},
		{"without a user", ours.client("", masters, nil), 401},
		{"of another authority with the same name", stranger.client("root", masters, nil), 401},
		{"signed by itself", selfSigned(t, "root", "system:masters"), 401},
		{"signed by a user, with the user's certificate", byJane, 401},
		{"of the authority of front proxies", proxies.client("root", masters, nil), 401},
		{"of a user who has the name of the authority", proxies.client("crd-server-ca", masters, nil), 401},
	} {
		code, _, body := a.with(test.certificate, get(treasurePath))
		if code != test.code || strings.Contains(body, treasure) != (code == 200) {
			t.Errorf("a certificate %s: %d %s", test.name, code, body)
		}
	}
}

// TestForgedHeaders sends headers that name another user, as a user without rights and as a proxy that is not allowed.
func TestForgedHeaders(t *testing.T) {
	t.Parallel()
	a, ours, proxies := besieged(t)
	jane := ours.client("jane", nil, nil)
	remote := []string{"X-Remote-User: root", "X-Remote-Group: system:masters"}
	for _, test := range []struct {
		name        string
		certificate tls.Certificate
		headers     []string
		code        int
	}{
		{"the front proxy, which is trusted", proxies.client("front", nil, nil), remote, 200},
		{"the front proxy for nobody", proxies.client("front", nil, nil), remote[1:], 401},
		{"another proxy", proxies.client("other", nil, nil), remote, 401},
		{"an old proxy", proxies.client("front", nil, expired), remote, 401},
		{"a user with the proxy's name", ours.client("front", nil, nil), remote, 403},
		{"nobody", tls.Certificate{}, remote, 401},
		{"a user", jane, remote, 403},
		{"a user, several times", jane, slices.Concat(remote, remote, []string{"x-remote-user: jane"}), 403},
		{"a user, with underscores", jane, []string{"X_Remote_User: root", "X_Remote_Group: system:masters"}, 403},
		{"a user, more of them", jane, append([]string{"X-Remote-Uid: 0", "X-Remote-Extra-Scopes: all"}, remote...), 403},
		{"a user, and names headers hop by hop", jane, append([]string{"Connection: X-Remote-User"}, remote...), 403},
		{"a user as another", jane, []string{"Impersonate-User: root", "Impersonate-Group: system:masters"}, 403},
		{"a user as two", jane, []string{"Impersonate-User: jane", "Impersonate-User: root"}, 403},
		{"a user as a group only", jane, []string{"Impersonate-Group: system:masters"}, 400},
		{"a user as itself with a group", jane, []string{"Impersonate-User: jane", "Impersonate-Group: system:masters"}, 403},
		{"a user as the server", jane, []string{"Impersonate-User: system:apiserver"}, 403},
		{"a user as itself with extra", jane, []string{"Impersonate-User: jane", "Impersonate-Extra-Scopes: all"}, 403},
		{"a user with a token that is none", jane, []string{"Authorization: Bearer root"}, 403},
		{"a user from the server's host", jane, []string{"X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1"}, 403},
		{"a token that is none", tls.Certificate{}, []string{"Authorization: Bearer root"}, 401},
		{"two tokens", tls.Certificate{}, []string{"Authorization: Bearer a", "Authorization: Bearer b"}, 401},
	} {
		code, _, body := a.with(test.certificate, get(treasurePath, test.headers...))
		if code != test.code || strings.Contains(body, treasure) != (code == 200) {
			t.Errorf("%s: %d, want %d: %s", test.name, code, test.code, body)
		}
	}
}

// TestForbiddenPaths asks for the treasure by paths that could be understood in several ways. The user may read
// discovery, /version and health checks.
func TestForbiddenPaths(t *testing.T) {
	t.Parallel()
	a, ours, _ := besieged(t)
	jane, root := ours.client("jane", nil, nil), ours.client("root", masters, nil)
	const secrets = "api/v1/namespaces/kube-system/secrets"
	paths := []string{
		treasurePath, "/" + secrets, "//" + secrets, "/api//v1/namespaces/kube-system/secrets", "/./" + secrets,
		"/api/v1/./namespaces/kube-system/secrets", "/api/v1/namespaces/default/../kube-system/secrets",
		"/api/v1/namespaces/default/../../namespaces/kube-system/secrets", "/healthz/../" + secrets,
		"/healthz/..%2f" + secrets, "/healthz%2f..%2f" + secrets, "/version/../" + secrets,
		"/version%2f%2e%2e/" + secrets, "/apis/../" + secrets, "/openapi/v3/../../" + secrets,
		"/api/v1/../v1/namespaces/kube-system/secrets", "/%61pi/v1/namespaces/kube-system/secrets",
		"/api%2fv1%2fnamespaces%2fkube-system%2fsecrets", "/API/v1/namespaces/kube-system/secrets",
		"/api/V1/namespaces/kube-system/secrets", "/api/v1/namespaces/kube-system/Secrets", "/" + secrets + "/",
		"/" + secrets + "//treasure", "/" + secrets + "%20", "/" + secrets + "%00", "/" + secrets + ";a=b",
		"/" + secrets + "%3fwatch=1", "/" + secrets + "?watch=1",
		"/" + secrets + "?fieldSelector=metadata.name%3dtreasure", "/api/v1/secrets", "/api/v1/watch/secrets",
		"/api/v1/proxy/" + secrets, "/api/v1/watch/namespaces/kube-system/secrets",
		"/apis/v1/namespaces/kube-system/secrets", "/apis//v1/namespaces/kube-system/secrets",
		"/apis/core/v1/namespaces/kube-system/secrets", "/api/v1/namespaces/kube-system%2fsecrets%2ftreasure",
		"\\api\\v1\\secrets",
	}
	for _, path := range paths {
		for _, who := range []struct {
			name        string
			certificate tls.Certificate
			codes       []int
		}{
			{"nobody", tls.Certificate{}, []int{400, 401}},
			{"jane", jane, []int{400, 403, 404}},
		} {
			code, _, body := a.with(who.certificate, get(path))
			if !slices.Contains(who.codes, code) || strings.Contains(body, treasure) {
				t.Errorf("GET %s as %s: %d %s", path, who.name, code, body)
			}
		}
	}
	if code, _, _ := a.with(jane, get("https://localhost"+treasurePath)); code != 403 {
		t.Errorf("the URL as a whole: %d", code)
	}
	code, header, _ := a.with(root, get(treasurePath, "Origin: https://evil.example.com"))
	if code != 200 || header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a page of another origin may read the answer: %d %v", code, header)
	}
}

// TestCredentialPaths asks for credentials where other servers or kinds would issue them.
func TestCredentialPaths(t *testing.T) {
	t.Parallel()
	a, ours, _ := besieged(t)
	jane, root := ours.client("jane", nil, nil), ours.client("root", masters, nil)
	const body = `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}`
	for _, test := range []struct {
		method, path string
		root         int
	}{
		{"PUT", "/apis/certificates.k8s.io/v1/certificatesigningrequests/jane/approval", 404},
		{"POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", 404},
		{"POST", "/api/v1/namespaces/kube-system/secrets/treasure/token", 404},
		{"POST", "/api/v1/namespaces/kube-system/configmaps/treasure/token", 404},
		{"POST", "/apis/authentication.k8s.io/v1/tokenrequests", 404},
		{"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.b.c/token", 404},
		{"POST", "/token", 404},
		{"POST", "/oauth/token", 404},
	} {
		request := get(test.path, "Content-Type: application/json", "Content-Length: "+strconv.Itoa(len(body)))
		request = test.method + strings.TrimPrefix(request, "GET") + body
		if code, _, answer := a.with(jane, request); code != 403 {
			t.Errorf("%s %s as jane: %d %s", test.method, test.path, code, answer)
		}
		if code, _, answer := a.with(root, request); code != test.root {
			t.Errorf("%s %s as root: %d %s", test.method, test.path, code, answer)
		}
	}
}
