package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
	"golang.org/x/sys/unix"
)

// shortage is a way to run out of disk space.
type shortage struct {
	// says is the server's error.
	says string
	// disk is the folder of its data.
	disk string
	// begin takes the space of a running server, end gives it back.
	begin, end func(server *process.Server) error
}

// TestFullDisk takes the disk space of a server with its etcd. Everything acknowledged must be there when it has
// space again.
func TestFullDisk(t *testing.T) {
	besideOthers(t)
	defer written.outcome(t, time.Now())
	t.Run("small disk", func(t *testing.T) { smallDisk(t).test(t) })
	t.Run("limited files", func(t *testing.T) { limitedFiles(t).test(t) })
}

// smallDisk mounts a small disk, which a file fills. It needs the right to mount.
func smallDisk(t *testing.T) *shortage {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=200m"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(disk, "filler")
	return &shortage{
		says: syscall.ENOSPC.Error(),
		disk: disk,
		begin: func(*process.Server) error {
			if err := fillDisk(filler); !errors.Is(err, syscall.ENOSPC) {
				return fmt.Errorf("the disk is not full: %w", err)
			}
			return nil
		},
		end: func(*process.Server) error { return os.Remove(filler) },
	}
}

// limitedFiles limits the size of files of the server to 32 MiB, which needs no rights.
func limitedFiles(t *testing.T) *shortage {
	t.Helper()
	limit := func(bytes uint64) func(*process.Server) error {
		return func(server *process.Server) error {
			var before unix.Rlimit
			if err := unix.Prlimit(server.Pid(), unix.RLIMIT_FSIZE, nil, &before); err != nil {
				return ignoreEnded(err)
			}
			return ignoreEnded(unix.Prlimit(server.Pid(), unix.RLIMIT_FSIZE,
				&unix.Rlimit{Cur: min(bytes, before.Max), Max: before.Max}, nil))
		}
	}
	return &shortage{says: syscall.EFBIG.Error(), disk: t.TempDir(), begin: limit(32 << 20),
		end: limit(unix.RLIM_INFINITY)}
}

// ignoreEnded ignores the error that a process has ended.
func ignoreEnded(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

func (s *shortage) test(t *testing.T) {
	options := process.Options{Binary: programs.Server(), DataDir: filepath.Join(s.disk, "data")}
	server := startServer(t, options)
	c := newClient(t, server)
	c.must(t, http.StatusCreated, http.MethodPost, definitions, asJSON, []byte(definition))
	if err := s.begin(server); err != nil {
		t.Fatal(err)
	}
	names, refusal, noAnswer := c.fill(t, 1000)
	ended := "the server went on"
	if noAnswer != nil {
		<-server.Done() // the client has no response because the server has ended
		ended = "the server ended"
		if !strings.Contains(server.Output(), s.says) {
			t.Errorf("the server does not say why it ended:\n%.2000s", server.Output())
		}
	}
	if err := s.end(server); err != nil {
		t.Fatal(err)
	}
	if noAnswer != nil {
		server = startServer(t, options)
		c = newClient(t, server)
	}
	var items map[string]object
	waitFor(t, "all objects are listed", func() (listed bool) {
		found, _, code, err := c.list(t.Context())
		items = found
		return err == nil && code == http.StatusOK
	})
	for _, name := range names {
		if _, found := items[name]; !found {
			t.Errorf("%s was acknowledged, and is not there", name)
		}
	}
	c.must(t, http.StatusCreated, http.MethodPost, cells, asJSON, large("later"))
	written.add(t, "full after %d objects of 200 KiB: %s (%d %s); all are there when there is room again", len(names),
		ended, refusal.code, refusal.Reason)
}

// fillDisk writes a file until the disk is full.
func fillDisk(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for block := make([]byte, 64<<10); ; {
		if _, err := file.Write(block); err != nil {
			return err
		}
	}
}

// TestSlowDisk keeps the disk of a server with its etcd busy and stops the process for moments, while clients write.
// Then it kills the server. All acknowledged writes must be there.
func TestSlowDisk(t *testing.T) {
	besideOthers(t)
	defer written.outcome(t, time.Now())
	disk := t.TempDir()
	options := process.Options{Binary: programs.Server(), DataDir: filepath.Join(disk, "data")}
	server := startServer(t, options)
	options.Port = server.Port()
	newClient(t, server).must(t, http.StatusCreated, http.MethodPost, definitions, asJSON, []byte(definition))
	writers := newWriters(t, 8)
	ctx, cancel := context.WithTimeout(t.Context(), size(3*time.Second, 20*time.Second))
	defer cancel()
	var disturbing sync.WaitGroup
	for n := range 2 {
		disturbing.Go(func() {
			if err := keepBusy(ctx, filepath.Join(disk, fmt.Sprintf("busy%d", n))); err != nil {
				t.Error(err)
			}
		})
	}
	disturbing.Go(func() { standStill(ctx, server) })
	slowest := writeUntil(t, ctx, newClient(t, server), writers)
	disturbing.Wait()
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	checkWriters(t, newClient(t, startServer(t, options)), writers)
	acknowledged, _ := counted(writers)
	written.add(t, "%d writes acknowledged, the slowest after %s", acknowledged, slowest.Round(time.Millisecond))
}

// writeUntil lets writers write until the context ends, and returns how long the slowest write took. All must
// succeed.
func writeUntil(t *testing.T, ctx context.Context, c *client, writers []*writer) time.Duration {
	var writing sync.WaitGroup
	slowest := make([]time.Duration, len(writers))
	for i, w := range writers {
		writing.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				if !w.write(t.Context(), c) {
					t.Errorf("write failed after %s: %v", time.Since(began), w.err)
					return
				}
				slowest[i] = max(slowest[i], time.Since(began))
			}
		})
	}
	writing.Wait()
	return slices.Max(slowest)
}

// standStill stops a process for moments.
func standStill(ctx context.Context, server *process.Server) {
	for ctx.Err() == nil {
		pause(ctx, 700*time.Millisecond)
		_ = server.Signal(syscall.SIGSTOP) // fails only if the server has ended, which is noticed elsewhere
		pause(ctx, 300*time.Millisecond)
		_ = server.Signal(syscall.SIGCONT)
	}
}

// keepBusy writes a file and syncs it after each mebibyte.
func keepBusy(ctx context.Context, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	block := make([]byte, 1<<20)
	for offset := int64(0); ctx.Err() == nil; offset = (offset + 1<<20) % (64 << 20) {
		if _, err := file.WriteAt(block, offset); err != nil {
			return err
		}
		if err := file.Sync(); err != nil {
			return err
		}
	}
	return nil
}
