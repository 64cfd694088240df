package authentication

import (
	"crypto/tls"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/apis/apiserver"
	certutil "k8s.io/client-go/util/cert"

	"github.com/crd-server/crd-server/internal/boundedhttp"
)

// issuerTimeout bounds a request to an issuer. The value is kube-apiserver's.
const issuerTimeout = 30 * time.Second

// clientOf returns an HTTP client for an issuer. Unlike the library's client it limits responses.
func clientOf(issuer *apiserver.Issuer) (*http.Client, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12} // without authorities of its own it uses the system's
	if issuer.CertificateAuthority != "" {
		roots, err := certutil.NewPoolFromBytes([]byte(issuer.CertificateAuthority))
		if err != nil {
			return nil, err
		}
		trust.RootCAs = roots
	}
	transport := utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: trust})
	return &http.Client{Transport: boundedhttp.Transport(transport), Timeout: issuerTimeout}, nil
}
