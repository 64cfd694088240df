package certs

import (
	"fmt"
	"net/url"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/crd-server/crd-server/internal/server/datadir"
)

// KubeconfigFile is the name of the admin kubeconfig in the data directory.
const KubeconfigFile = "admin.kubeconfig"

// WriteKubeconfig writes the admin kubeconfig for the server at the URL, and returns it. It contains the certificates
// themselves.
func WriteKubeconfig(dir *datadir.Dir, id *Identity, server string) ([]byte, error) {
	trust, err := os.ReadFile(id.TrustFile)
	if err != nil {
		return nil, fmt.Errorf("certificate %s is unreadable: %w", id.TrustFile, datadir.Cause(err))
	}
	credential, err := id.Admin.AuthInfo()
	if err != nil {
		return nil, err
	}
	const name = "crd-server"
	content, err := Kubeconfig(name, &clientcmdapi.Context{Cluster: name, AuthInfo: name}, &clientcmdapi.Cluster{
		Server: server, CertificateAuthorityData: trust, TLSServerName: id.serverName(server),
	}, credential)
	if err != nil {
		return nil, err
	}
	return content, dir.Write(content, KubeconfigFile)
}

// Kubeconfig returns a kubeconfig with a named context, its cluster and its user.
func Kubeconfig(
	name string, context *clientcmdapi.Context, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo,
) ([]byte, error) {
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{context.Cluster: cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{context.AuthInfo: user},
		Contexts:       map[string]*clientcmdapi.Context{name: context},
		CurrentContext: name,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the kubeconfig of %q: %w", context.AuthInfo, err)
	}
	return content, nil
}

// serverName returns the name that clients have to ask for if the serving certificate, given by a flag, is not valid
// for the address in the URL, and "" if it is valid.
func (id *Identity) serverName(server string) string {
	certificate, err := ReadCertificate(id.CertFile)
	if err != nil {
		return ""
	}
	u, err := url.Parse(server)
	if err != nil || certificate.VerifyHostname(u.Hostname()) == nil || len(certificate.DNSNames) == 0 {
		return ""
	}
	return certificate.DNSNames[0]
}
