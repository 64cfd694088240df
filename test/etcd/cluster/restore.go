package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// Snapshot writes a snapshot of the cluster to a file.
func (c *Cluster) Snapshot(ctx context.Context, path string) error {
	resp, err := c.Client.SnapshotWithVersion(ctx)
	if err != nil {
		return fmt.Errorf("request a snapshot: %w", err)
	}
	defer resp.Snapshot.Close()
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(file, resp.Snapshot); err != nil {
		return fmt.Errorf("receive a snapshot: %w", err)
	}
	return file.Close()
}

// Restore are the options of a restore, as of etcdutl snapshot restore.
type Restore struct {
	Snapshot      string
	RevisionBump  uint64
	MarkCompacted bool
	// Token is that of the new cluster. Another token makes another cluster ID.
	Token string
}

// Restore replaces the data of a member that does not run. The member becomes a cluster of its own.
func (m *Member) Restore(r Restore) error {
	if err := os.RemoveAll(m.dir); err != nil {
		return err
	}
	err := snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath:        r.Snapshot,
		Name:                m.Name,
		OutputDataDir:       m.dir,
		OutputWALDir:        filepath.Join(m.dir, "member", "wal"),
		PeerURLs:            []string{m.peer},
		InitialCluster:      m.Name + "=" + m.peer,
		InitialClusterToken: r.Token,
		RevisionBump:        r.RevisionBump,
		MarkCompacted:       r.MarkCompacted,
	})
	if err != nil {
		return fmt.Errorf("restore etcd member %s: %w", m.Name, err)
	}
	return nil
}
