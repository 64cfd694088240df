package etcdtest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/goleak"
	"go.uber.org/zap"
)

// startTimeout bounds the start of an etcd.
const startTimeout = time.Minute

// Etcd is an etcd in this process.
type Etcd struct {
	// Client is in-process: it has no connection.
	Client *clientv3.Client

	// Dir is a temporary directory. Its path is short enough for sockets.
	Dir string

	server   *embed.Etcd
	prefixes sync.Map // of the tests that run
}

// New starts an etcd for one test. See Start for configure.
func New(t testing.TB, configure ...func(*embed.Config)) *Etcd {
	t.Helper()
	e := Start(configure...)
	t.Cleanup(e.Stop)
	return e
}

// Main runs the tests of a package with the etcd that it stores in shared. It returns the exit code. It fails if
// goroutines are left at the end.
func Main(m *testing.M, shared **Etcd) int {
	e := Start()
	*shared = e
	code := m.Run()
	e.Stop()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Start starts an etcd for a TestMain that needs more than Main. It panics on an error. By default the etcd has no
// peers, serves clients at a socket, and does not sync its files; configure may change that.
func Start(configure ...func(*embed.Config)) *Etcd {
	e, err := start(configure)
	if err != nil {
		panic(err)
	}
	return e
}

func start(configure []func(*embed.Config)) (*Etcd, error) {
	dir, err := os.MkdirTemp("", "etcd") // t.TempDir may be too long for a socket
	if err != nil {
		return nil, err
	}
	e := &Etcd{Dir: dir}
	config := embed.NewConfig()
	config.Dir = filepath.Join(dir, "data")
	config.ListenPeerUrls = nil
	config.ListenClientUrls = []url.URL{{Scheme: "unix", Path: filepath.Join(dir, "client")}}
	config.AdvertiseClientUrls = config.ListenClientUrls
	config.TickMs, config.ElectionMs = 10, 100
	config.UnsafeNoFsync = true
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	for _, change := range configure {
		change(config)
	}
	if e.server, err = embed.StartEtcd(config); err != nil {
		e.Stop()
		return nil, fmt.Errorf("starting etcd: %w", err)
	}
	select {
	case <-e.server.Server.ReadyNotify():
	case err = <-e.server.Err():
	case <-time.After(startTimeout):
		err = context.DeadlineExceeded
	}
	if err != nil {
		e.Stop()
		return nil, fmt.Errorf("waiting for etcd: %w", err)
	}
	e.Client = v3client.New(e.server.Server)
	return e, nil
}

// Stop stops the etcd and removes its files.
func (e *Etcd) Stop() {
	if e.Client != nil {
		_ = e.Client.Close()
	}
	if e.server != nil {
		e.server.Close()
	}
	_ = os.RemoveAll(e.Dir)
}

// Addr returns the address at which it serves clients.
func (e *Etcd) Addr() net.Addr { return e.server.Clients[0].Addr() }

// Prefix returns the prefix of the keys of a test. The keys are removed at the end of the test.
func (e *Etcd) Prefix(t testing.TB) string {
	t.Helper()
	prefix := "/" + t.Name()
	if _, known := e.prefixes.LoadOrStore(prefix, true); known {
		return prefix
	}
	t.Cleanup(func() {
		e.prefixes.Delete(prefix)
		if _, err := e.Client.Delete(context.Background(), prefix+"/", clientv3.WithPrefix()); err != nil {
			t.Errorf("removing the keys of the test: %v", err)
		}
	})
	return prefix
}
