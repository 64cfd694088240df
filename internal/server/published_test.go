package server

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

const trustPath = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

// sharedEtcd returns the flags of servers on one etcd.
func sharedEtcd(t *testing.T) []string {
	t.Helper()
	etcd := etcdtest.New(t, func(c *embed.Config) {
		c.ListenClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	})
	return []string{"--etcd-servers", "http://" + etcd.Addr().String()}
}

// until waits until a condition holds.
func (p *person) until(what string, holds func() bool) {
	p.t.Helper()
	err := wait.PollUntilContextTimeout(p.t.Context(), 10*time.Millisecond, 30*time.Second, true,
		func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

// authorities returns how many authorities of clients are published.
func (p *person) authorities() int {
	p.t.Helper()
	var trust corev1.ConfigMap
	p.read(trustPath, &trust)
	certificates, err := cert.ParseCertsPEM([]byte(trust.Data["client-ca-file"]))
	if err != nil {
		p.t.Fatal(err)
	}
	return len(certificates)
}

// TestPublishedAuthorities checks that a server publishes its authorities when it is ready, adds them to those of other
// servers, and publishes them again when they are gone.
func TestPublishedAuthorities(t *testing.T) {
	t.Parallel()
	flags := sharedEtcd(t)
	p := startWhole(t, flags...).root()
	var trust corev1.ConfigMap
	p.read(trustPath, &trust)
	if len(trust.Data) != 1 || p.authorities() != 1 {
		t.Errorf("the first server publishes %v", trust.Data)
	}
	p.sameFields("/api/v1/namespaces/kube-system/configmaps", &trust, &trust.ObjectMeta)

	proxies, _ := clientOf(t, startWhole(t).issuer(), "front")
	flags = append(flags, "--requestheader-client-ca-file", proxies.CertFile, "--requestheader-allowed-names", "front",
		"--requestheader-username-headers", "X-Remote-User", "--requestheader-group-headers", "X-Remote-Group",
		"--requestheader-uid-headers", "X-Remote-Uid", "--requestheader-extra-headers-prefix", "X-Remote-Extra-")
	startWhole(t, flags...)
	complete := func() bool {
		if p.send(http.MethodGet, trustPath, "").code != http.StatusOK || p.authorities() != 2 {
			return false
		}
		p.read(trustPath, &trust)
		return trust.Data["requestheader-allowed-names"] == `["front"]`
	}
	p.until("both servers publish their authorities", complete)
	for key, want := range map[string]string{
		"requestheader-username-headers": `["X-Remote-User"]`, "requestheader-group-headers": `["X-Remote-Group"]`,
		"requestheader-uid-headers": `["X-Remote-Uid"]`, "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
	} {
		if trust.Data[key] != want {
			t.Errorf("%s is %s", key, trust.Data[key])
		}
	}
	p.must(http.StatusOK, http.MethodDelete, trustPath, "")
	p.until("a deleted ConfigMap is created again", complete)
	p.must(http.StatusOK, http.MethodPatch, trustPath, `{"data":{"client-ca-file":""}}`,
		"Content-Type", "application/merge-patch+json")
	p.until("authorities that were removed are added again", complete)
}
