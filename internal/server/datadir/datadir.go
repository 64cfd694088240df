// Package datadir is the directory in which a server keeps its certificates, the admin kubeconfig and the embedded
// etcd. Begin at Open.
package datadir

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// Dir is a directory that only this process writes to, until Close.
type Dir struct {
	path  string // absolute
	isNew bool
	lock  *fileutil.LockedFile // nil if the directory is temporary
}

// errLocked: another process uses the data directory.
var errLocked = errors.New("is locked by another process")

// lockFile is in every data directory from its first use.
const lockFile = "lock"

// Is reports whether a server has used a directory as its data directory.
func Is(path string) bool {
	_, err := os.Stat(filepath.Join(path, lockFile))
	return err == nil
}

// Open creates the directory if it is missing, and locks it. Without a path it creates a temporary one, which Close
// removes and whose files are not synced, for a server that keeps nothing.
func Open(path string) (*Dir, error) {
	if path == "" {
		path, err := os.MkdirTemp("", "crd-server-")
		if err != nil {
			return nil, fmt.Errorf("temporary data dir: %w", err)
		}
		return &Dir{path: path, isNew: true}, nil
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data dir %s: %w", path, err)
	}
	if err := os.MkdirAll(absolute, 0o700); err != nil {
		return nil, fmt.Errorf("data dir %s is not writable: %w", path, Cause(err))
	}
	isNew := !Is(absolute)
	lock, err := lockExclusively(filepath.Join(absolute, lockFile))
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("data dir %s %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("data dir %s is not writable: %w", path, Cause(err))
	}
	dir := &Dir{path: absolute, isNew: isNew, lock: lock}
	if err := dir.checkDatabase(); err != nil {
		_ = dir.Close()
		return nil, fmt.Errorf("data dir %s %w", path, err)
	}
	return dir, nil
}

// IsTemporary reports whether Close removes the directory.
func (d *Dir) IsTemporary() bool { return d.lock == nil }

// lockExclusively locks the file and writes the process ID to it, for the error of the next process.
func lockExclusively(file string) (*fileutil.LockedFile, error) {
	lock, err := fileutil.TryLockFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		if owner, err := os.ReadFile(file); err == nil && len(owner) > 0 {
			return nil, fmt.Errorf("%w (process ID %s)", errLocked, bytes.TrimSpace(owner))
		}
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	if err = lock.Truncate(0); err == nil {
		_, err = fmt.Fprintln(lock, os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// checkDatabase returns an error if another process, such as an etcd started by hand, has the database open: the
// embedded etcd would wait for it without end.
func (d *Dir) checkDatabase() error {
	file := d.Path("etcd", "member", "snap", "db")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	// A reader shares the lock with other readers but not with a writer, and changes nothing.
	db, err := bolt.Open(file, 0o600, &bolt.Options{ReadOnly: true, Timeout: 1})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return errLocked
	}
	if err != nil {
		return fmt.Errorf("holds an unreadable database: %w", Cause(err))
	}
	return db.Close()
}

// IsNew reports whether no server had used the directory before Open.
func (d *Dir) IsNew() bool { return d.isNew }

// Path returns the absolute path of a file in the directory.
func (d *Dir) Path(names ...string) string {
	return filepath.Join(append([]string{d.path}, names...)...)
}

// Write replaces the named file as a whole. Only the owner can read it.
func (d *Dir) Write(content []byte, names ...string) error {
	file := d.Path(names...)
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = WriteFile(file, content, !d.IsTemporary(), os.Rename)
	}
	if err != nil {
		return fmt.Errorf("data dir %s is not writable: %w", d.path, Cause(err))
	}
	return nil
}

// WriteFile writes a file as a whole, which only the owner can read: it writes a temporary file beside it, and place
// gives that its name. sync says whether the content must be on the disk before.
func WriteFile(file string, content []byte, sync bool, place func(from, to string) error) error {
	temporary, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // fails after a rename
	_, err = temporary.Write(content)
	if err == nil && sync {
		err = temporary.Sync()
	}
	if err = errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return place(temporary.Name(), file)
}

// Close unlocks the directory, or removes it if it is temporary.
func (d *Dir) Close() error {
	if d.IsTemporary() {
		return os.RemoveAll(d.path)
	}
	return d.lock.Close()
}

// Cause strips the operation and the path from an error of package os, for messages that name both already.
func Cause(err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}
