package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
)

// Ticks of the etcd in memory in milliseconds. It starts with an election, which lasts up to electionMs.
const (
	memoryTickMs     = 5
	memoryElectionMs = 25
)

// inMemory is the etcd of all servers of this process that keep nothing.
var inMemory memory

// memory is an etcd that several servers share. The first of them starts it, and the last stops it. Its files are in a
// temporary directory and are never synced, so they are in the page cache as a rule. An etcd for each server would cost
// an election at each start, and 2 ms of CPU a second.
type memory struct {
	// mu guards the fields below. It is held while the etcd starts and stops.
	mu      sync.Mutex
	users   int
	server  *embed.Etcd
	dir     string
	failure *failure
}

// failure is the end of an etcd that has failed.
type failure struct {
	happened chan struct{} // closed after err is set
	err      error
}

// prefixes counts the calls of OwnPrefix.
var prefixes atomic.Int64

// OwnPrefix makes the prefix of o one that no other server of this process has.
func (o *Options) OwnPrefix() {
	o.Prefix = "/server-" + strconv.FormatInt(prefixes.Add(1), 10) + o.Root()
}

// StartInMemory connects to an etcd in this process that keeps nothing after its last user. All servers that call it
// share one, so their prefixes must differ; see OwnPrefix. Close deletes the keys below the prefix.
func StartInMemory(ctx context.Context, prefix string) (*Connection, error) {
	m := &inMemory
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users == 0 {
		if err := m.start(ctx); err != nil {
			return nil, fmt.Errorf("start an etcd in memory: %w", err)
		}
	}
	m.users++
	c, failure := connect(m.server), m.failure
	c.Wait = func(ctx context.Context) error {
		select {
		case <-failure.happened:
			return failure.err
		case <-ctx.Done():
			return nil
		}
	}
	disconnect := c.Close
	c.Close = func() {
		m.release(c.Client, prefix)
		disconnect()
	}
	return c, nil
}

// start starts the etcd. The caller holds m.mu.
func (m *memory) start(ctx context.Context) (err error) {
	if m.dir, err = os.MkdirTemp("", "crd-server-"); err != nil {
		return err
	}
	config := embeddedConfig(filepath.Join(m.dir, "etcd"))
	config.UnsafeNoFsync = true
	config.TickMs, config.ElectionMs = memoryTickMs, memoryElectionMs
	if m.server, err = start(ctx, config); err != nil {
		return errors.Join(err, os.RemoveAll(m.dir))
	}
	failed := &failure{happened: make(chan struct{})}
	m.failure = failed
	errs := m.server.Err()
	go func() { // ends when release closes the etcd
		if err, open := <-errs; open {
			failed.err = err
			close(failed.happened)
		}
	}()
	return nil
}

// release deletes the keys of a user, or everything if it was the last one.
func (m *memory) release(client *clientv3.Client, prefix string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users--; m.users > 0 {
		// An etcd that has failed deletes nothing. Then all its users end, and the last of them removes the files.
		_, _ = client.Delete(context.Background(), prefix+"/", clientv3.WithPrefix())
		return
	}
	m.server.Close()
	m.server = nil
	_ = os.RemoveAll(m.dir) // what cannot be removed is in a temporary directory
}
