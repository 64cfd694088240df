package authentication

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apiserver/pkg/apis/apiserver"
)

// TestEgress connects to an issuer through the proxy of an egress.
func TestEgress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket, file := filepath.Join(dir, "s"), filepath.Join(dir, "egress.yaml")
	config := "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n" +
		"- name: cluster\n  connection:\n    proxyProtocol: HTTPConnect\n    transport: {uds: {udsName: " + socket + "}}\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	egress, err := readEgress(file)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	dial, err := dialerOf(&apiserver.Issuer{EgressSelectorType: apiserver.EgressSelectorCluster}, egress)
	if err != nil {
		t.Fatal(err)
	}
	dialed := make(chan error, 1)
	go func() { // ends when the proxy has closed the connection, or could not be reached
		connection, err := dial(t.Context(), "tcp", "issuer.example.com:443")
		if err == nil {
			_ = connection.Close()
		}
		_ = proxy.Close() // ends Accept
		dialed <- err
	}()
	connection, err := proxy.Accept()
	if err != nil {
		t.Fatalf("the dialer does not reach the proxy: %v", <-dialed)
	}
	_ = connection.Close()
	if err := <-dialed; err == nil {
		t.Error("there is a connection that the proxy has refused")
	}

	if dial, err := dialerOf(&apiserver.Issuer{}, egress); dial != nil || err != nil {
		t.Errorf("without an egress: %v", err)
	}
	controlPlane := &apiserver.Issuer{EgressSelectorType: apiserver.EgressSelectorControlPlane}
	if _, err := dialerOf(controlPlane, egress); err == nil {
		t.Error("an egress that is not configured has a dialer")
	}
	if _, err := dialerOf(&apiserver.Issuer{EgressSelectorType: apiserver.EgressSelectorCluster}, nil); err == nil {
		t.Error("without a file there is a dialer")
	}
	if _, err := readEgress(file + ".missing"); err == nil {
		t.Error("a file that is missing is read")
	}
}
