package fault

import (
	"context"
	"syscall"
	"time"

	"github.com/crd-server/crd-server/test/etcd/cluster"
)

// members is the size of a cluster: one of them may fail.
const members = 3

// stopFor stops a process with SIGSTOP for a while.
func stopFor(ctx context.Context, m *cluster.Member, d time.Duration) error {
	if err := m.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	pause(ctx, d)
	return m.Signal(syscall.SIGCONT)
}
