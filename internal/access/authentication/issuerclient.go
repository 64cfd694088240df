package authentication

import (
	"crypto/tls"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/apis/apiserver"
	certutil "k8s.io/client-go/util/cert"

	"github.com/crd-server/crd-server/internal/answers"
)

// issuerTimeout bounds a question to an issuer; it is kube-apiserver's.
const issuerTimeout = 30 * time.Second

// clientOf returns a client for what an issuer publishes. It differs from the library's own in that answers are bounded.
func clientOf(issuer *apiserver.Issuer) (*http.Client, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12} // without an authority of its own, the system's are believed
	if issuer.CertificateAuthority != "" {
		roots, err := certutil.NewPoolFromBytes([]byte(issuer.CertificateAuthority))
		if err != nil {
			return nil, err
		}
		trust.RootCAs = roots
	}
	transport := utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: trust})
	return &http.Client{Transport: answers.Transport(transport), Timeout: issuerTimeout}, nil
}
