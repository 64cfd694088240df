package server

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/allocator"
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/encryption"
	"github.com/crd-server/crd-server/internal/server/datadir"
	"github.com/crd-server/crd-server/internal/server/etcd"
)

// inMemoryAskFor is how long an etcd in memory may take for an answer. It has no disk and no network to wait for, so it
// is late only if the process gets no CPU, as among many tests on a busy machine.
const inMemoryAskFor = 20 * time.Second

// startEtcd starts an etcd in this process.
func startEtcd(ctx context.Context, o *ValidOptions, dir *datadir.Dir) (*etcd.Connection, error) {
	if o.InMemory {
		return etcd.StartInMemory(ctx, o.Etcd.Root())
	}
	return etcd.StartEmbedded(ctx, dir.Path("etcd"))
}

// storage has the stored objects and their resources: the store feeds the table of served CRDs, and the table feeds
// everything else.
type storage struct {
	etcd     *etcd.Connection
	store    *dynamicstorage.Store
	table    *crds.Table
	builtins *builtin.Set
	folders  *etcd.Folders
}

// newStorage returns the storage in an etcd. transformer encrypts values; it may be nil.
func newStorage(o *ValidOptions, connection *etcd.Connection, transformer *encryption.Transformer) (*storage, error) {
	storing := dynamicstorage.Options{
		Client: connection.Client, NewWatcher: connection.NewWatcher, Prefix: o.Etcd.Root(), Header: crds.ReadHeader,
		CheckViews: o.Etcd.CheckViews, Logger: o.Logger,
	}
	if o.InMemory {
		storing.AskFor = inMemoryAskFor
	}
	if transformer != nil {
		storing.Transform = transformer
	}
	store, err := dynamicstorage.New(storing)
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	builtins, err := builtin.NewSet(o.definitions)
	if err != nil {
		return nil, err
	}
	table := crds.NewTable(store.Resource(crds.GroupName, crds.Plural))
	logDefinitions(table, o.Logger)
	folders := o.folders()
	connection.Measure(folders, func(group, plural string) bool {
		_, served := table.Get(plural + "." + group)
		return served || group == crds.GroupName && plural == crds.Plural
	})
	return &storage{etcd: connection, store: store, table: table, builtins: builtins, folders: folders}, nil
}

// size estimates the size of a resource. See filters.Sizes.
func (s *storage) size(group, plural string) (objects int, bytes int64) {
	return s.store.Size(s.folders.Folder(schema.GroupResource{Group: group, Resource: plural}))
}

// folders returns the folders of the resources in etcd.
func (o *Options) folders() *etcd.Folders {
	folders := etcd.NewFolders(o.Etcd.Root())
	for _, d := range builtin.Definitions(o.builtinTier()) {
		folders.Add(d.StorageFolder(), d.GroupVersionResource().GroupResource())
	}
	folders.Add(allocator.PortsFolder, corev1.Resource("servicenodeportallocations")) // its name in kube-apiserver
	return folders
}

// definitionLog is the name of the logger of created and deleted CRDs.
const definitionLog = "crds"

// logDefinitions logs CRDs that are created and deleted after the start, by this replica or another.
func logDefinitions(table *crds.Table, log klog.Logger) {
	log = log.WithName(definitionLog)
	table.OnChange(func(old, record *crds.Record) {
		if !table.HasSynced() || old != nil && record != nil && old.UID == record.UID {
			return
		}
		if old != nil {
			log.Info("Deleted CustomResourceDefinition", "name", old.Name, "uid", old.UID)
		}
		if record != nil {
			log.Info("Created CustomResourceDefinition", "name", record.Name, "uid", record.UID)
		}
	})
}
