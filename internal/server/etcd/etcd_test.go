package etcd

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"golang.org/x/sync/errgroup"

	"github.com/crd-server/crd-server/internal/etcdtest"
	"github.com/crd-server/crd-server/internal/server/certs"
	"github.com/crd-server/crd-server/internal/server/datadir"
)

func TestMain(m *testing.M) {
	UseSmallLogs() // as the command does
	os.Exit(m.Run())
}

func TestEmbeddedEtcdKeepsData(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "etcd")
	var revision int64
	for range 3 {
		etcd, err := StartEmbedded(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		response, err := etcd.Client.Put(t.Context(), "key", strings.Repeat("x", 3<<20))
		if err != nil {
			t.Fatal(err)
		}
		if response.Header.Revision <= revision {
			t.Errorf("revision %d after %d", response.Header.Revision, revision)
		}
		revision = response.Header.Revision
		etcd.Close()
	}
}

// TestEmbeddedEtcdLogStaysShort checks that etcd removes old files of its log: a start reads all of them.
func TestEmbeddedEtcdLogStaysShort(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "etcd")
	etcd, err := StartEmbedded(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var writing errgroup.Group
	for writer := range 32 {
		writing.Go(func() error {
			for range 4000 / 32 {
				if _, err := etcd.Client.Put(t.Context(), fmt.Sprintf("key%d", writer), strings.Repeat("x", 12<<10)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := writing.Wait(); err != nil {
		t.Fatal(err)
	}
	etcd.Close()
	if etcd, err = StartEmbedded(t.Context(), dir); err != nil { // etcd removes old files when it starts, and periodically
		t.Fatal(err)
	}
	defer etcd.Close()
	const most = 50 << 20 // two files, and the one that etcd allocates in advance
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for logSize(t, dir) > most {
		<-tick.C
	}
}

// logSize returns how many bytes the log of the embedded etcd has on disk.
func logSize(t *testing.T, dir string) (size int64) {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(dir, "member", "wal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if info, err := file.Info(); err == nil { // it may just have been removed
			size += info.Size()
		}
	}
	return size
}

// externalEtcd runs an etcd with a port, and with TLS if certificates are given.
func externalEtcd(t *testing.T, serving, client *certs.Pair, ca string) string {
	t.Helper()
	scheme := "http"
	if serving != nil {
		scheme = "https"
	}
	etcd := etcdtest.New(t, func(c *embed.Config) {
		c.ListenClientUrls = []url.URL{{Scheme: scheme, Host: "127.0.0.1:0"}}
		c.AdvertiseClientUrls = c.ListenClientUrls
		if serving != nil {
			c.ClientTLSInfo.CertFile, c.ClientTLSInfo.KeyFile = serving.CertFile, serving.KeyFile
			c.ClientTLSInfo.TrustedCAFile, c.ClientTLSInfo.ClientCertAuth = ca, client != nil
		}
	})
	return scheme + "://" + etcd.Addr().String()
}

func TestExternalEtcd(t *testing.T) {
	t.Parallel()
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	id, err := certs.NewIdentity(&certs.Config{BindAddress: net.IPv4(127, 0, 0, 1)}, dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	serving := &certs.Pair{CertFile: id.CertFile, KeyFile: id.KeyFile}
	plain := externalEtcd(t, nil, nil, "")
	secured := externalEtcd(t, serving, id.Admin, id.TrustFile)
	for _, test := range []struct {
		name    string
		options Options
		want    string // part of the error
	}{
		{name: "plain", options: Options{Servers: []string{plain}}},
		{name: "socket", options: Options{Servers: []string{"unix://" + etcdtest.New(t).Addr().String()}}},
		{name: "one of two answers", options: Options{Servers: []string{"http://127.0.0.1:1", plain}}},
		{name: "TLS", options: Options{Servers: []string{secured}, CAFile: id.TrustFile, CertFile: id.Admin.CertFile,
			KeyFile: id.Admin.KeyFile}},
		{
			name:    "authority unknown",
			options: Options{Servers: []string{secured}, CertFile: id.Admin.CertFile, KeyFile: id.Admin.KeyFile},
			want:    "certificate signed by unknown authority",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			etcd, err := Connect(t.Context(), &test.options)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) ||
					!strings.HasPrefix(err.Error(), "etcd is unreachable at ") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer etcd.Close()
			if _, err := etcd.Client.Get(t.Context(), "/", clientv3.WithPrefix(), clientv3.WithCountOnly()); err != nil {
				t.Error(err)
			}
		})
	}
}
