package dynamicstorage

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// TestRevisionBatcher checks that readers get an answer although others give up.
func TestRevisionBatcher(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	gone, leave := context.WithCancelCause(t.Context())
	leave(errors.New("gone"))
	written, err := s.CurrentRevision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for reader := range 64 {
		readers.Go(func() {
			ctx := t.Context()
			if reader%2 == 0 {
				ctx = gone
			}
			for range 20 {
				revision, err := s.CurrentRevision(ctx)
				if ctx == gone {
					if err != nil && err.Error() != "gone" {
						t.Error(err)
					}
				} else if err != nil || revision < written {
					t.Error(revision, err)
				}
			}
		})
	}
	readers.Wait()
	if _, err := s.CurrentRevision(t.Context()); err != nil { // the goroutine may have just ended
		t.Error(err)
	}
}
