package server

import (
	"context"
	"fmt"
	"time"

	"github.com/crd-server/crd-server/internal/server/datadir"
	"github.com/crd-server/crd-server/internal/server/etcd"
)

// inMemoryAskFor is how long an etcd in memory may take for an answer. It has no disk and no network to wait for, so it
// is late only if the process gets no CPU, as among many tests on a busy machine.
const inMemoryAskFor = 20 * time.Second

// openDataDir opens the data directory, or a temporary one if there is none.
func openDataDir(o *ValidOptions) (*datadir.Dir, error) {
	if o.DataDir == "" {
		return datadir.OpenTemporary()
	}
	return datadir.Open(o.DataDir)
}

// startEtcd starts an etcd in this process.
func startEtcd(ctx context.Context, o *ValidOptions, dir *datadir.Dir) (*etcd.Connection, error) {
	if o.InMemory {
		return etcd.StartInMemory(ctx, o.Etcd.Root())
	}
	return etcd.StartEmbedded(ctx, dir.Path("etcd"))
}

// watchStorage fails when an etcd in this process does.
func (s *server) watchStorage(working context.Context) error {
	if err := s.storage.Wait(working); err != nil {
		return fmt.Errorf("the embedded etcd failed: %w", err)
	}
	return nil
}
