package namespaces

import (
	"os"
	"testing"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// etcd is shared by all tests of the package. Each test has its own prefix.
var etcd *etcdtest.Etcd

func TestMain(m *testing.M) { os.Exit(etcdtest.Main(m, &etcd)) }

// newStore runs a store on a prefix until the test ends.
func newStore(t *testing.T, prefix string) *dynamicstorage.Store {
	t.Helper()
	store, err := dynamicstorage.New(dynamicstorage.Options{Client: etcd.Client, Prefix: prefix, Header: crds.ReadHeader})
	if err != nil {
		t.Fatal(err)
	}
	etcdtest.Run(t, store.Run)
	return store
}

// namespacesOf returns the namespaces in a store.
func namespacesOf(s *dynamicstorage.Store) *dynamicstorage.Resource {
	return s.Resource("core", "namespaces")
}
