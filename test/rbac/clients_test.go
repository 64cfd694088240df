package rbac

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// authority signs client certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// file has the certificate.
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "people"}, key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := cert.EncodeCertificates(made)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "people.crt")
	if err := os.WriteFile(file, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	return &authority{made, key, file}
}

// certified returns the configuration of a user with a certificate of a name and groups.
func (s *server) certified(t *testing.T, name string, groups []string) *rest.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, s.authority.certificate, key.Public(), s.authority.key)
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(s.config)
	config.CertData = pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
	if config.KeyData, err = keyutil.MarshalPrivateKeyToPEM(key); err != nil {
		t.Fatal(err)
	}
	return config
}

// tokened returns the configuration of a service account with a token.
func (s *server) tokened(t *testing.T, namespace, name string) *rest.Config {
	t.Helper()
	answer, err := s.CoreV1().ServiceAccounts(namespace).
		CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(s.config)
	config.BearerToken = answer.Status.Token
	return config
}

// impersonated returns the configuration of the administrator who acts as another user.
func (s *server) impersonated(name string, groups []string) *rest.Config {
	config := rest.CopyConfig(s.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: groups}
	return config
}
