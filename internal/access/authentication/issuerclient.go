package authentication

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/server/egressselector"
	certutil "k8s.io/client-go/util/cert"

	"github.com/crd-server/crd-server/internal/boundedhttp"
)

// issuerTimeout bounds a request to an issuer. The value is kube-apiserver's.
const issuerTimeout = 30 * time.Second

// readEgress returns the function that finds the dialer of an egress; nil without a file.
func readEgress(file string) (egressselector.Lookup, error) {
	if file == "" {
		return nil, nil
	}
	config, err := egressselector.ReadEgressSelectorConfiguration(file)
	if err != nil {
		return nil, err
	}
	if errs := egressselector.ValidateEgressSelectorConfiguration(config); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	selector, err := egressselector.NewEgressSelector(config)
	if err != nil || selector == nil {
		return nil, err
	}
	return selector.Lookup, nil
}

// dialerOf returns the dialer for an issuer; nil for the usual one.
func dialerOf(issuer *apiserver.Issuer, egress egressselector.Lookup) (utilnet.DialFunc, error) {
	kind := egressselector.ControlPlane
	switch issuer.EgressSelectorType {
	case "":
		return nil, nil
	case apiserver.EgressSelectorCluster:
		kind = egressselector.Cluster
	}
	var dial utilnet.DialFunc
	if egress != nil {
		var err error
		if dial, err = egress(kind.AsNetworkContext()); err != nil {
			return nil, err
		}
	}
	if dial == nil {
		return nil, fmt.Errorf("egress %q is not configured", kind)
	}
	return dial, nil
}

// clientOf returns an HTTP client for an issuer. Unlike the library's client it limits responses.
func clientOf(issuer *apiserver.Issuer, egress egressselector.Lookup) (*http.Client, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12} // without authorities of its own it uses the system's
	if issuer.CertificateAuthority != "" {
		roots, err := certutil.NewPoolFromBytes([]byte(issuer.CertificateAuthority))
		if err != nil {
			return nil, err
		}
		trust.RootCAs = roots
	}
	dial, err := dialerOf(issuer, egress)
	if err != nil {
		return nil, err
	}
	transport := utilnet.SetTransportDefaults(&http.Transport{DialContext: dial, TLSClientConfig: trust})
	return &http.Client{Transport: boundedhttp.Transport(transport), Timeout: issuerTimeout}, nil
}
