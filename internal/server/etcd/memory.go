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
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
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
	mu     sync.Mutex
	users  int
	server *member
	dir    string
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
	c := m.server.connect()
	disconnect := c.Close
	logger := klog.FromContext(ctx)
	c.Close = func() {
		if err := m.release(c.Client, prefix); err != nil {
			logger.Error(err, "Failed to delete objects in memory; they stay while other servers of the process run")
		}
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
	return nil
}

// release ends a use, and stops the etcd if it was the last one. Otherwise it deletes the keys below the prefix before,
// while others may start and end.
func (m *memory) release(client *clientv3.Client, prefix string) (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users > 1 {
		m.mu.Unlock()
		err = deleteKeys(client, prefix+"/")
		m.mu.Lock()
	}
	if m.users--; m.users == 0 {
		m.server.Close()
		m.server = nil
		_ = os.RemoveAll(m.dir) // what cannot be removed is in a temporary directory
	}
	return err
}

const (
	// deletedKeys is how many keys a request deletes at once: etcd does nothing else meanwhile.
	deletedKeys = 1000
	// deleteTimeout bounds the deletion of all keys of a user.
	deleteTimeout = 30 * time.Second
)

// deleteKeys deletes the keys with a prefix.
func deleteKeys(client *clientv3.Client, prefix string) error {
	ctx, cancel := context.WithTimeout(context.Background(), deleteTimeout)
	defer cancel()
	for {
		some, err := client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithLimit(deletedKeys))
		if err != nil || some.Count == 0 {
			return err
		}
		last := string(some.Kvs[len(some.Kvs)-1].Key)
		if _, err := client.Delete(ctx, prefix, clientv3.WithRange(last+"\x00")); err != nil {
			return err
		}
	}
}
