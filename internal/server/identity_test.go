package server

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/crd-server/crd-server/internal/identity"
)

// TestIdentity checks what others see of a server that acts as kube-apiserver, and of one that does not.
func TestIdentity(t *testing.T) {
	t.Parallel()
	hostname, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	name := identity.Of(hostname)
	const leasesPath = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
	const check = "poststarthook/start-kube-apiserver-identity-lease-controller"
	p := launchWhole(t, func(o *Options) { o.KubeAPIServer = true }).root()
	got := p.becomes(http.StatusOK, leasesPath+"/"+name, "")
	lease := &coordinationv1.Lease{}
	if err := json.Unmarshal([]byte(got.body), lease); err != nil {
		t.Fatal(err)
	}
	if lease.Labels["apiserver.kubernetes.io/identity"] != "kube-apiserver" ||
		lease.Labels["kubernetes.io/hostname"] != hostname || *lease.Spec.LeaseDurationSeconds != 3600 ||
		!strings.HasPrefix(*lease.Spec.HolderIdentity, name+"_") {
		t.Errorf("the lease is %s", got.body)
	}
	if got := p.must(http.StatusOK, http.MethodGet, "/statusz", "").body; !strings.Contains(got, "apiserver statusz") {
		t.Error(got)
	}
	p.must(http.StatusOK, http.MethodGet, "/healthz/"+check, "")

	p = startWhole(t).root()
	p.must(http.StatusNotFound, http.MethodGet, leasesPath+"/"+name, "")
	p.must(http.StatusNotFound, http.MethodGet, "/healthz/"+check, "")
	if got := p.must(http.StatusOK, http.MethodGet, "/statusz", "").body; !strings.Contains(got, "crd-server statusz") {
		t.Error(got)
	}
}
