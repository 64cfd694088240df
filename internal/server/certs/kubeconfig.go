package server

import (
	"fmt"
	"net/url"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfigFile is the name of the admin kubeconfig in the data directory.
const kubeconfigFile = "admin.kubeconfig"

// writeKubeconfig writes the admin kubeconfig, self-contained, for the server at the URL.
func writeKubeconfig(dir *DataDir, id *identity, server string) error {
	trust, err := os.ReadFile(id.trustFile)
	if err != nil {
		return fmt.Errorf("certificate %s is unreadable: %w", id.trustFile, cause(err))
	}
	certificate, err := os.ReadFile(id.admin.certFile)
	if err != nil {
		return fmt.Errorf("certificate %s is unreadable: %w", id.admin.certFile, cause(err))
	}
	key, err := os.ReadFile(id.admin.keyFile)
	if err != nil {
		return fmt.Errorf("private key %s is unreadable: %w", id.admin.keyFile, cause(err))
	}
	const name = "crd-server"
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server:                   server,
			CertificateAuthorityData: trust,
			TLSServerName:            id.serverName(server),
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: certificate,
			ClientKeyData:         key,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return fmt.Errorf("encode the admin kubeconfig: %w", err)
	}
	return dir.Write(content, kubeconfigFile)
}

// serverName returns the name a client has to ask for when the serving certificate, given by flag, is not for the
// address in the URL; else nothing.
func (id *identity) serverName(server string) string {
	certificate, err := readCertificate(id.certFile)
	if err != nil {
		return ""
	}
	u, err := url.Parse(server)
	if err != nil || certificate.VerifyHostname(u.Hostname()) == nil || len(certificate.DNSNames) == 0 {
		return ""
	}
	return certificate.DNSNames[0]
}
