package kubeapiserver

import (
	"fmt"
	"net"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// generateMissing writes the certificate of the certificate directory, unless it exists. The server signs it itself.
func (o *Options) generateMissing(certificateFile, keyFile string) error {
	exist, err := cert.CanReadCertAndKey(certificateFile, keyFile)
	if err != nil {
		return fmt.Errorf("--cert-dir: %w", err)
	}
	if exist {
		return nil
	}
	names := []string{"kubernetes.default.svc", "kubernetes.default", "kubernetes", "localhost"}
	addresses := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	serving := &o.server.Serving
	for _, address := range []net.IP{serving.BindAddress, serving.AdvertiseAddress, net.ParseIP(o.externalHost)} {
		if address != nil && !address.IsUnspecified() {
			addresses = append(addresses, address)
		}
	}
	host := "localhost"
	if o.externalHost != "" && net.ParseIP(o.externalHost) == nil {
		host = o.externalHost
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey(host, addresses, names)
	if err != nil {
		return fmt.Errorf("generate the certificate: %w", err)
	}
	if err = cert.WriteCert(certificateFile, certificate); err == nil {
		err = keyutil.WriteKey(keyFile, key)
	}
	if err != nil {
		return fmt.Errorf("--cert-dir is not writable: %w", err)
	}
	return nil
}
