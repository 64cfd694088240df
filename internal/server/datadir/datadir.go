package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// DataDir is the directory this process alone may write to, until Close.
type DataDir struct {
	path string // absolute
	lock *fileutil.LockedFile
}

// errLocked says that another process has the data directory.
var errLocked = errors.New("is locked by another process")

// openDataDir creates the directory when missing and locks it.
func openDataDir(path string) (*DataDir, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data dir %s: %w", path, err)
	}
	if err := os.MkdirAll(absolute, 0o700); err != nil {
		return nil, fmt.Errorf("data dir %s is not writable: %w", path, cause(err))
	}
	lock, err := fileutil.TryLockFile(filepath.Join(absolute, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, fmt.Errorf("data dir %s %w", path, errLocked)
	}
	if err != nil {
		return nil, fmt.Errorf("data dir %s is not writable: %w", path, cause(err))
	}
	dir := &DataDir{path: absolute, lock: lock}
	if err := dir.checkDatabase(); err != nil {
		_ = dir.Close()
		return nil, fmt.Errorf("data dir %s %w", path, err)
	}
	return dir, nil
}

// checkDatabase looks whether somebody else, such as an etcd started by hand, has the database open: etcd would wait
// for it without end.
func (d *DataDir) checkDatabase() error {
	file := d.Path("etcd", "member", "snap", "db")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	// A reader shares the lock with other readers, but not with a writer, and changes nothing.
	db, err := bolt.Open(file, 0o600, &bolt.Options{ReadOnly: true, Timeout: 1})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return errLocked
	}
	if err != nil {
		return fmt.Errorf("holds an unreadable database: %w", cause(err))
	}
	return db.Close()
}

// Path returns the absolute path of something in the directory.
func (d *DataDir) Path(names ...string) string {
	return filepath.Join(append([]string{d.path}, names...)...)
}

// Write puts content into the named file, readable by the owner only, entirely or not at all.
func (d *DataDir) Write(content []byte, names ...string) error {
	file := d.Path(names...)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("data dir %s is not writable: %w", d.path, cause(err))
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*") // mode 0600
	if err != nil {
		return fmt.Errorf("data dir %s is not writable: %w", d.path, cause(err))
	}
	defer os.Remove(temporary.Name()) // fails after the rename, as it should
	_, err = temporary.Write(content)
	if err == nil {
		err = temporary.Sync()
	}
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("data dir %s is not writable: %w", d.path, cause(err))
	}
	return nil
}

// Close gives the directory free for another process.
func (d *DataDir) Close() error { return d.lock.Close() }

// cause strips the operation and path that our own message has said already.
func cause(err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}
