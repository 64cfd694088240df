package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
)

// credentials are files in a directory: the key that signs the tokens of service accounts, the token of the
// administrator, and the administrator's kubeconfig.
type credentials struct {
	dir, address            string
	key, tokens, kubeconfig string
}

// newCredentials writes the files. kube-apiserver writes its certificate beside them when it starts.
func newCredentials(dir, address string) (*credentials, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := &credentials{
		dir: dir, address: address,
		key:        filepath.Join(dir, "serviceaccounts.key"),
		tokens:     filepath.Join(dir, "tokens.csv"),
		kubeconfig: filepath.Join(dir, "admin.kubeconfig"),
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	encoded, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(c.key, encoded, 0o600); err != nil {
		return nil, err
	}
	token := rand.Text()
	if err := os.WriteFile(c.tokens, []byte(token+`,admin,admin,"system:masters"`+"\n"), 0o600); err != nil {
		return nil, err
	}
	content := clientcmdapi.NewConfig()
	content.Clusters["server"] = &clientcmdapi.Cluster{
		Server: "https://" + address, CertificateAuthority: filepath.Join(dir, "apiserver.crt"),
	}
	content.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: token}
	content.Contexts["admin"] = &clientcmdapi.Context{Cluster: "server", AuthInfo: "admin"}
	content.CurrentContext = "admin"
	return c, clientcmd.WriteToFile(*content, c.kubeconfig)
}

// client returns a client of the administrator. It fails until there is a certificate.
func (c *credentials) client() (*rest.RESTClient, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return rest.UnversionedRESTClientFor(config)
}
