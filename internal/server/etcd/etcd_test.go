package server

import (
	"context"
	"fmt"
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
)

func TestEmbeddedEtcdKeepsData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	var revision int64
	for range 3 {
		dir, err := openDataDir(path)
		if err != nil {
			t.Fatal(err)
		}
		etcd, err := startEtcd(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		response, err := etcd.client.Put(t.Context(), "key", strings.Repeat("x", 3<<20))
		if err != nil {
			t.Fatal(err)
		}
		if response.Header.Revision <= revision {
			t.Errorf("revision %d after %d", response.Header.Revision, revision)
		}
		revision = response.Header.Revision
		etcd.close()
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEmbeddedEtcdLogStaysShort writes more than a start should have to read again.
func TestEmbeddedEtcdLogStaysShort(t *testing.T) {
	dir := newDataDir(t)
	etcd, err := startEtcd(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var writing errgroup.Group
	for writer := range 32 {
		writing.Go(func() error {
			for range 4000 / 32 {
				if _, err := etcd.client.Put(t.Context(), fmt.Sprintf("key%d", writer), strings.Repeat("x", 12<<10)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := writing.Wait(); err != nil {
		t.Fatal(err)
	}
	etcd.close()
	if etcd, err = startEtcd(t.Context(), dir); err != nil { // old files are removed when it starts, and now and then
		t.Fatal(err)
	}
	defer etcd.close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	const most = 50 << 20 // two files, and the one that is made ready
	for size := logSize(t, dir); size > most; size = logSize(t, dir) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the log has %d MiB", size>>20)
		}
	}
}

// logSize is how many bytes the log of the embedded etcd has on disk.
func logSize(t *testing.T, dir *DataDir) (size int64) {
	t.Helper()
	files, err := os.ReadDir(dir.Path("etcd", "member", "wal"))
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

// externalEtcd runs an etcd as somebody else would, with TLS if certificates are given.
func externalEtcd(t *testing.T, serving, client *pair, ca string) string {
	t.Helper()
	scheme := "http"
	if serving != nil {
		scheme = "https"
	}
	etcd := etcdtest.New(t, func(c *embed.Config) {
		c.ListenClientUrls = []url.URL{{Scheme: scheme, Host: "127.0.0.1:0"}}
		c.AdvertiseClientUrls = c.ListenClientUrls
		if serving != nil {
			c.ClientTLSInfo.CertFile, c.ClientTLSInfo.KeyFile = serving.certFile, serving.keyFile
			c.ClientTLSInfo.TrustedCAFile, c.ClientTLSInfo.ClientCertAuth = ca, client != nil
		}
	})
	return scheme + "://" + etcd.Addr().String()
}

func TestExternalEtcd(t *testing.T) {
	id := identityAt(t, newDataDir(t), time.Now(), nil)
	serving := &pair{certFile: id.certFile, keyFile: id.keyFile}
	plain := externalEtcd(t, nil, nil, "")
	secured := externalEtcd(t, serving, id.admin, id.trustFile)
	for _, test := range []struct {
		name    string
		options EtcdOptions
		want    string // part of the error
	}{
		{name: "plain", options: EtcdOptions{Servers: []string{plain}}},
		{name: "one of two answers", options: EtcdOptions{Servers: []string{"http://127.0.0.1:1", plain}}},
		{name: "TLS", options: EtcdOptions{Servers: []string{secured}, CAFile: id.trustFile, CertFile: id.admin.certFile, KeyFile: id.admin.keyFile}},
		{
			name:    "authority unknown",
			options: EtcdOptions{Servers: []string{secured}, CertFile: id.admin.certFile, KeyFile: id.admin.keyFile},
			want:    "certificate signed by unknown authority",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			etcd, err := connectEtcd(t.Context(), &test.options)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "etcd is unreachable at ") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer etcd.close()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if _, err := etcd.client.Get(ctx, "/", clientv3.WithPrefix(), clientv3.WithCountOnly()); err != nil {
				t.Error(err)
			}
		})
	}
}
