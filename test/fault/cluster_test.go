package fault

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/etcd/cluster"
)

// members is the size of a cluster: one of them may fail.
const members = 3

// startCluster starts a cluster, which ends with the test.
func startCluster(t *testing.T, size int, args ...string) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(etcdBinary, filepath.Join(t.TempDir(), "etcd"), size, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // its members may have been killed
	return c
}

// stopFor stops a process for a while; it notices nothing of it.
func stopFor(ctx context.Context, m *cluster.Member, d time.Duration) error {
	if err := m.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	pause(ctx, d)
	return m.Signal(syscall.SIGCONT)
}
