package datadir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func open(t *testing.T) *Dir {
	t.Helper()
	dir, err := Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	return dir
}

func TestWriteIsAllOrNothing(t *testing.T) {
	t.Parallel()
	dir := open(t)
	if err := dir.Write([]byte("one"), "some", "file"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir.Path("some", "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := dir.Write([]byte("two"), "some", "dir"); err == nil {
		t.Error("a file replaced a directory")
	}
	entries, err := os.ReadDir(dir.Path("some"))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("a temporary file is left: %v", entries)
	}
}

func TestIsNew(t *testing.T) {
	t.Parallel()
	path := t.TempDir() // exists, but no server has used it
	if Is(path) {
		t.Error("an empty directory is a data directory")
	}
	for _, want := range []bool{true, false} {
		dir, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if dir.IsNew() != want {
			t.Errorf("new: %v, want %v", dir.IsNew(), want)
		}
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !Is(path) {
		t.Error("it is no data directory after its use")
	}
}

func TestOpenRefusesLockedDirectories(t *testing.T) {
	t.Parallel()
	dir := open(t)
	want := fmt.Sprintf("is locked by another process (process ID %d)", os.Getpid())
	if _, err := Open(dir.Path()); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("locked directory: %v", err)
	}
	file := dir.Path("etcd", "member", "snap", "db")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(file, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir.Path()); err == nil || !strings.HasSuffix(err.Error(), "is locked by another process") {
		t.Errorf("open database: %v", err)
	}
}
