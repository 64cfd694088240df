// Command bare shows the cost of sending in Go: a handler of net/http with TLS and HTTP/2 that sends as many bytes as
// the measured servers, sends events at once, and does nothing else. It has one object and no etcd, and knows the
// verbs of the parts get and watch only. Begin with handler.go.
package main

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

func main() {
	dir := flag.String("data-dir", "", "directory of the kubeconfig")
	address := flag.String("bind-address", "127.0.0.1", "where it listens")
	port := flag.Int("secure-port", 0, "port; 0 takes any")
	flag.Parse()
	if err := run(*dir, net.JoinHostPort(*address, strconv.Itoa(*port))); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

// run serves until it is killed.
func run(dir, address string) error {
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("use the certificate: %w", err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	url := "https://" + listener.Addr().String()
	kubeconfig := filepath.Join(dir, "admin.kubeconfig")
	if err := writeKubeconfig(kubeconfig, url, certificate); err != nil {
		return errors.Join(err, listener.Close())
	}
	fmt.Printf("ready: export KUBECONFIG=%s; %s\n", kubeconfig, url)
	server := &http.Server{
		Handler:   newHandler(),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, DynamicRecordSizingDisabled: true},
	}
	return server.ServeTLS(listener, "", "")
}

// writeKubeconfig writes a kubeconfig for the server, and creates its directory.
func writeKubeconfig(file, url string, authority []byte) error {
	content := clientcmdapi.NewConfig()
	content.Clusters["server"] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: authority}
	content.AuthInfos["anybody"] = &clientcmdapi.AuthInfo{}
	content.Contexts["bare"] = &clientcmdapi.Context{Cluster: "server", AuthInfo: "anybody"}
	content.CurrentContext = "bare"
	return clientcmd.WriteToFile(*content, file)
}
