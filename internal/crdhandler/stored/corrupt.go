package stored

import (
	"fmt"
	"strings"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// CorruptError says that a stored value cannot be decrypted or decoded (W18).
type CorruptError struct {
	Key string
	Err error
}

// Error implements error. The text names the object by its key below the resource.
func (e *CorruptError) Error() string { return e.At("").Error() }

// Unwrap returns the error of reading the value.
func (e *CorruptError) Unwrap() error { return e.Err }

// At returns the error with the object's whole key, in the words of upstream's storage.
func (e *CorruptError) At(resource string) error {
	return fmt.Errorf("StorageError: corrupt object, Code: 7, Key: /%s, ResourceVersion: 0, AdditionalErrorMsg: object not decodable: %w",
		strings.Trim(resource+"/"+e.Key, "/"), e.Err)
}

// Unreadable returns the error of an entry that cannot be read, and nil for every other entry.
func Unreadable(entry *dynamicstorage.Entry, view *dynamicstorage.View) *CorruptError {
	switch {
	case view == nil:
		return &CorruptError{Key: entry.Key, Err: entry.Err}
	case view.Err != nil:
		return &CorruptError{Key: entry.Key, Err: view.Err}
	}
	return nil
}

// CorruptErrors fails a list or watch that met objects it cannot read. It has at least one element.
type CorruptErrors []*CorruptError

// Error implements error.
func (e CorruptErrors) Error() string { return fmt.Sprintf("%d corrupt objects: %v", len(e), e[0]) }

// AllUnreadable returns the errors of the entries that cannot be read.
func AllUnreadable(entries []*dynamicstorage.Entry, views []*dynamicstorage.View) (corrupt CorruptErrors) {
	for n, entry := range entries {
		if err := Unreadable(entry, views[n]); err != nil {
			corrupt = append(corrupt, err)
		}
	}
	return corrupt
}
