package server

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// startInMemory starts a server that keeps nothing, and returns its administrator.
func startInMemory(t *testing.T) (s *testServer, admin *person) {
	t.Helper()
	var config []byte
	s = launchWhole(t, func(o *Options) {
		o.DataDir, o.InMemory, o.Resources.Builtin = "", true, ""
		ready := o.Out
		o.OnReady = func(kubeconfig []byte) {
			config = kubeconfig
			_, _ = ready.Write([]byte("ready")) // a buffer
		}
	})
	admins, err := clientcmd.RESTConfigFromKubeConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(admins)
	if err != nil {
		t.Fatal(err)
	}
	return s, &person{t: t, client: client, url: admins.Host}
}

// TestInMemory checks that servers that keep nothing share neither objects nor metrics of them, and leave no files.
func TestInMemory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Run("serving", func(t *testing.T) {
		_, one := startInMemory(t)
		_, other := startInMemory(t)
		one.withTables().must(http.StatusCreated, http.MethodPost, tablesPath, table("mine", 4))
		other.must(http.StatusNotFound, http.MethodGet, tablesPath, "")
		other.withTables().must(http.StatusNotFound, http.MethodGet, tablesPath+"/mine", "")
		one.must(http.StatusOK, http.MethodGet, tablesPath+"/mine", "")

		const stored = `apiserver_resource_objects{group="shop.example.com",resource="tables"}`
		for admin, want := range map[*person]float64{one: 1, other: 0} {
			got, _ := series(admin.must(http.StatusOK, http.MethodGet, "/metrics", "").body, stored)
			if got != want {
				t.Errorf("%s is %v, want %v", stored, got, want)
			}
		}
	})
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "crd-server-*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
