package crds

import (
	"context"
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/tools/cache"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// etcd is shared by all tests of the package. Each test has its own prefix.
var etcd *etcdtest.Etcd

func TestMain(m *testing.M) { os.Exit(etcdtest.Main(m, &etcd)) }

// newStore runs a store on the prefix of the test until the test ends.
func newStore(t *testing.T) *dynamicstorage.Store {
	t.Helper()
	store, err := dynamicstorage.New(dynamicstorage.Options{Client: etcd.Client, Prefix: etcd.Prefix(t)})
	if err != nil {
		t.Fatal(err)
	}
	etcdtest.Run(t, store.Run)
	return store
}

func newSyncedTable(t *testing.T, store *dynamicstorage.Store) *Table {
	t.Helper()
	informer := NewInformer(store)
	table := NewTable(informer)
	startTable(t, informer, table)
	return table
}

func startTable(t *testing.T, informer cache.SharedIndexInformer, table *Table) {
	t.Helper()
	etcdtest.Run(t, func(ctx context.Context) error { informer.RunWithContext(ctx); return nil })
	<-table.Synced()
}

func keyOf(t *testing.T, name string) string {
	return fmt.Sprintf("%s/%s/%s/%s", etcd.Prefix(t), GroupName, Plural, name)
}
