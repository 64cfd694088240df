package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

// TestProtectedDefinitions checks that a server which protects CRDs deletes none with its objects, until the CRD says
// that it may.
func TestProtectedDefinitions(t *testing.T) {
	t.Parallel()
	root := startWhole(t, "--protect-crds").root().withTables()
	const definition = definitionsPath + "/tables.shop.example.com"
	gone := func() bool { return root.send(http.MethodGet, definition, "").code == http.StatusNotFound }

	root.must(http.StatusCreated, http.MethodPost, tablesPath, table("a", 4))
	refused := root.must(http.StatusConflict, http.MethodDelete, definition, "").body
	if !strings.Contains(refused, "it has 1 object, and is protected by the server (--protect-crds)") {
		t.Errorf("got %s", refused)
	}
	root.must(http.StatusConflict, http.MethodDelete, definitionsPath, "")
	root.must(http.StatusOK, http.MethodGet, tablesPath+"/a", "")

	root.must(http.StatusOK, http.MethodDelete, tablesPath+"/a", "")
	root.must(http.StatusOK, http.MethodDelete, definition, "")
	waitUntil(t, "the CRD without objects is gone", gone)

	root.withTables()
	root.must(http.StatusCreated, http.MethodPost, tablesPath, table("a", 4))
	root.must(http.StatusOK, http.MethodPatch, definition,
		`{"metadata":{"annotations":{"crd-server.io/protect":"false"}}}`, "Content-Type", "application/merge-patch+json")
	root.must(http.StatusOK, http.MethodDelete, definition, "")
	waitUntil(t, "the CRD is gone with its object", gone)
}

// TestProtectionOnEveryReplica deletes a protected CRD on one replica while an object is created on another one. The
// CRD stays if the object was created, and the object is refused if the CRD was deleted.
func TestProtectionOnEveryReplica(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.New(t, func(c *embed.Config) {
		c.ListenClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	})
	endpoint := "http://" + etcd.Addr().String()
	one := startWhole(t, "--protect-crds", "--etcd-servers", endpoint).root()
	two := startWhole(t, "--protect-crds", "--etcd-servers", endpoint).root()
	const definition = definitionsPath + "/tables.shop.example.com"
	serves := func(p *person) bool { return p.send(http.MethodGet, tablesPath, "").code == http.StatusOK }
	kept := 0
	for range 10 {
		one.withTables()
		waitUntil(t, "the other replica serves the CRD", func() bool { return serves(two) })
		deleted := make(chan int)
		go func() { deleted <- one.send(http.MethodDelete, definition, "").code }()
		created := two.send(http.MethodPost, tablesPath, table("a", 4)).code
		switch code := <-deleted; {
		case created == http.StatusCreated && code == http.StatusConflict:
			kept++
			one.must(http.StatusOK, http.MethodDelete, tablesPath+"/a", "")
			one.must(http.StatusOK, http.MethodDelete, definition, "")
		case created == http.StatusNotFound && code == http.StatusOK:
		default:
			t.Errorf("creation: %d, deletion: %d", created, code)
		}
		waitUntil(t, "the CRD is gone on the other replica", func() bool { return !serves(two) })
	}
	t.Logf("%d of 10 CRDs stayed", kept)
}
