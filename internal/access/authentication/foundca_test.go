package authentication

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestConfigMapAppliesAtOnce checks that the ConfigMap of a host cluster applies as soon as it was read, before its
// watch runs. Otherwise a server that has just started would refuse the users of an aggregator.
func TestConfigMapAppliesAtOnce(t *testing.T) {
	authorities, err := os.ReadFile(newAuthority(t).file)
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: configMapNamespace, Name: configMapName},
		Data:       map[string]string{keyProxyCA: string(authorities), keyUsernames: `["X-Remote-User"]`},
	})
	found, err := newLookup(client)
	if err != nil {
		t.Fatal(err)
	}
	if err := found.read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := found.proxyCA.VerifyOptions(); !ok ||
		string(found.proxyCA.CurrentCABundleContent()) != string(authorities) {
		t.Errorf("the authorities of proxies are %q", found.proxyCA.CurrentCABundleContent())
	}
	if _, ok := found.clientCA.VerifyOptions(); ok || found.clientCA.CurrentCABundleContent() != nil {
		t.Error("there are authorities of clients, but the ConfigMap has none")
	}
	if names := found.requestHeaders().UsernameHeaders.Value(); len(names) != 1 || names[0] != "X-Remote-User" {
		t.Errorf("the headers with the user are %q", names)
	}
}
