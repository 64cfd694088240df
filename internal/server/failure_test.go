package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// TestStartFailures checks that the error of a failed start is one line, and that the data directory is not written.
func TestStartFailures(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() }) // after the parallel subtests
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "not a certificate")
	for _, test := range []struct {
		name   string
		change func(*Options)
		want   string // a regular expression for the whole line
	}{
		{
			name:   "port taken",
			change: func(o *Options) { o.Serving.SecurePort = taken.Addr().(*net.TCPAddr).Port },
			want:   `port \d+ is taken: 127\.0\.0\.1:\d+: address already in use \(.*\)`,
		},
		{
			name:   "address of another machine",
			change: func(o *Options) { o.Serving.BindAddress = net.IPv4(192, 0, 2, 1) },
			want:   `cannot listen on 192\.0\.2\.1:0: .*assign requested address`,
		},
		{
			name:   "data dir not writable",
			change: func(o *Options) { o.DataDir = filepath.Join(file, "data") },
			want:   `data dir .*/file/data is not writable: not a directory`,
		},
		{
			name:   "serving certificate missing",
			change: func(o *Options) { o.Serving.CertFile, o.Serving.KeyFile = "/nowhere.crt", "/nowhere.key" },
			want: `--tls-cert-file /nowhere.crt with --tls-private-key-file /nowhere.key: certificate is unreadable: .*no ` +
				`such file or directory`,
		},
		{
			name:   "client CA unreadable",
			change: func(o *Options) { o.Authentication.ClientCAFile = file },
			want:   `--client-ca-file .*/file: certificate is unreadable: .*`,
		},
		{
			name:   "etcd unreachable",
			change: func(o *Options) { o.Etcd.Servers = []string{"http://127.0.0.1:1"} },
			want:   `etcd is unreachable at http://127\.0\.0\.1:1: .*connection refused.*`,
		},
		{
			name: "etcd certificate unreadable",
			change: func(o *Options) {
				o.Etcd.Servers, o.Etcd.CAFile = []string{"https://127.0.0.1:1"}, file
			},
			want: `--etcd-cafile .*/file: certificate is unreadable: .*`,
		},
		{
			name:   "CRDs missing",
			change: func(o *Options) { o.CRDs = []string{"/nowhere.yaml"} },
			want:   `--crds: /nowhere.yaml: no such file or directory`,
		},
		{
			name:   "bad option",
			change: func(o *Options) { o.Serving.SecurePort = 70000 },
			want:   `--secure-port must be between 0 and 65535, not 70000`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := NewOptions()
			o.DataDir = filepath.Join(t.TempDir(), "data")
			o.Serving.SecurePort = 0
			test.change(o)
			err := runWith(t.Context(), o, fakeResources(http.NotFoundHandler(), nil))
			if err == nil {
				t.Fatal("no error")
			}
			if !regexp.MustCompile(`\A` + test.want + `\z`).MatchString(err.Error()) {
				t.Errorf("got %q", err)
			}
			if _, err := os.Stat(o.DataDir); err == nil {
				t.Error("the data directory exists")
			}
		})
	}
}

func TestDataDirIsLocked(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(notFound), nil)
	o := NewOptions()
	o.DataDir, o.Serving.SecurePort = s.options.DataDir, 0
	err := runWith(t.Context(), o, fakeResources(http.NotFoundHandler(), nil))
	if want := fmt.Sprintf("data dir %s is locked by another process (process ID %d)", o.DataDir,
		os.Getpid()); err == nil ||
		err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// TestDatabaseIsLocked checks that a start fails while another process runs an etcd on the data directory.
func TestDatabaseIsLocked(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(filepath.Join(dir, "etcd", "member", "snap"), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(filepath.Join(dir, "etcd", "member", "snap", "db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	o := NewOptions()
	o.DataDir, o.Serving.SecurePort = dir, 0
	err = runWith(t.Context(), o, fakeResources(http.NotFoundHandler(), nil))
	if err == nil || !strings.HasSuffix(err.Error(), " is locked by another process") {
		t.Errorf("got %v", err)
	}
}

func TestStopWhileStarting(t *testing.T) {
	t.Parallel()
	s := launch(t, http.HandlerFunc(notFound), nil) // is never synced
	s.asSoonAsServed()
	s.stop()
	<-s.ended // the cleanup checks the error
}

func TestFailingPartEndsTheServer(t *testing.T) {
	t.Parallel()
	failure := errors.New("the feed broke")
	o := NewOptions()
	o.DataDir, o.Serving.SecurePort = filepath.Join(t.TempDir(), "data"), 0
	o.Out = &readyLine{seen: make(chan struct{})}
	synced := make(chan struct{})
	close(synced)
	composer := fakeResources(http.NotFoundHandler(), synced)
	fail := func(ctx context.Context) error { return failure }
	err := runWith(t.Context(), o, running(composer, fail))
	if !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
}
