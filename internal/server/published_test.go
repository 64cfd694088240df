//lint:file-ignore SA1019 Endpoints are deprecated, and served

package server

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
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

// authorities returns how many authorities of clients are published, also while there are none.
func (p *person) authorities() int {
	p.t.Helper()
	var trust corev1.ConfigMap
	p.read(trustPath, &trust)
	certificates, err := cert.ParseCertsPEM([]byte(trust.Data["client-ca-file"]))
	if err != nil {
		return 0
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
	p.sameFields("/api/v1/namespaces/kube-system/configmaps", &trust)

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

// TestServerEndpoints checks that the endpoints of the Service of the servers are those that run.
func TestServerEndpoints(t *testing.T) {
	t.Parallel()
	flags := append(sharedEtcd(t), "--builtin-resources", "all", "--advertise-address")
	p := startWhole(t, append(flags, "192.0.2.1")...).root()
	p.endpoints("192.0.2.1") // as soon as the server is ready
	second := startWhole(t, append(flags, "192.0.2.2")...)
	p.until("both servers are endpoints", func() bool { return p.hasEndpoints("192.0.2.1", "192.0.2.2") })
	p.must(http.StatusOK, http.MethodDelete, endpointsPath, "")
	p.must(http.StatusOK, http.MethodDelete, slicePath, "")
	p.until("deleted endpoints are created again", func() bool { return p.hasEndpoints("192.0.2.1", "192.0.2.2") })
	second.shutDown()
	p.until("a server that has stopped is no endpoint", func() bool { return p.hasEndpoints("192.0.2.1") })
}

// TestKeptService checks that the Service of the servers is created again when it is gone, also without endpoints.
func TestKeptService(t *testing.T) {
	t.Parallel()
	p := startWhole(t, "--builtin-resources", "all", "--endpoint-reconciler-type", "none").root()
	var first, second corev1.Service
	p.read(servicePath, &first)
	p.must(http.StatusOK, http.MethodDelete, servicePath, "")
	p.until("a deleted Service is created again", func() bool {
		return p.send(http.MethodGet, servicePath, "").code == http.StatusOK
	})
	p.read(servicePath, &second)
	fields := func(s *corev1.Service) string { return string(s.ManagedFields[0].FieldsV1.GetRawBytes()) }
	if !reflect.DeepEqual(first.Spec, second.Spec) || !maps.Equal(first.Labels, second.Labels) ||
		first.UID == second.UID || fields(&first) != fields(&second) {
		t.Errorf("the Service was %v, and is %v", first, second)
	}
	p.must(http.StatusNotFound, http.MethodGet, endpointsPath, "")
	p.must(http.StatusNotFound, http.MethodGet, slicePath, "")
}

const (
	servicePath   = "/api/v1/namespaces/default/services/kubernetes"
	endpointsPath = "/api/v1/namespaces/default/endpoints/kubernetes"
	slicePath     = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
)

func (p *person) hasEndpoints(want ...string) bool {
	p.t.Helper()
	for _, path := range []string{endpointsPath, slicePath} {
		if p.send(http.MethodGet, path, "").code != http.StatusOK {
			return false
		}
	}
	var endpoints corev1.Endpoints
	p.read(endpointsPath, &endpoints)
	var inSlice discoveryv1.EndpointSlice
	p.read(slicePath, &inSlice)
	var addresses, sliced []string
	for _, subset := range endpoints.Subsets {
		for _, address := range subset.Addresses {
			addresses = append(addresses, address.IP)
		}
	}
	for _, endpoint := range inSlice.Endpoints {
		sliced = append(sliced, endpoint.Addresses...)
	}
	return slices.Equal(addresses, want) && slices.Equal(sliced, want)
}

// endpoints checks the endpoints.
func (p *person) endpoints(want ...string) {
	p.t.Helper()
	var endpoints corev1.Endpoints
	p.read(endpointsPath, &endpoints)
	if !p.hasEndpoints(want...) || len(endpoints.Subsets) != 1 {
		p.t.Fatalf("the endpoints are %+v", endpoints.Subsets)
	}
	ports := endpoints.Subsets[0].Ports
	wanted := []corev1.EndpointPort{{Name: "https", Port: ports[0].Port, Protocol: corev1.ProtocolTCP}}
	if !reflect.DeepEqual(ports, wanted) || !strings.HasSuffix(p.url, fmt.Sprint(":", ports[0].Port)) ||
		endpoints.Labels[discoveryv1.LabelSkipMirror] != "true" {
		p.t.Errorf("the endpoints are %+v", endpoints)
	}
}
