package dynamicstorage

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reads.
var (
	// ErrNotFound: there is nothing at the key.
	ErrNotFound = errors.New("key not found")
	// ErrCompacted: etcd does not know the revision any more. Whoever needs what happened since has to read anew.
	ErrCompacted = errors.New("revision has been compacted")
	// ErrFutureRevision: the revision does not exist yet; the error is a *FutureRevisionError.
	ErrFutureRevision = errors.New("revision is in the future")
)

// Writes.
var (
	// ErrTooLarge: etcd does not take a request of that size.
	ErrTooLarge = errors.New("request is too large")
	// ErrInvalidKey: the key is neither "name" nor "namespace/name".
	ErrInvalidKey = errors.New("invalid key")
	// ErrConflict: the key was changed after the entry was read. Nothing was written.
	ErrConflict = errors.New("key has been changed")
)

// Checks.
var (
	// ErrInconsistent: memory is not as etcd.
	ErrInconsistent = errors.New("memory differs from etcd")
	// ErrNotLoaded: the resource is not in memory.
	ErrNotLoaded = errors.New("resource is not in memory")
)

// Everything.
var (
	// ErrClosed: the resource was released, or the store has stopped.
	ErrClosed = errors.New("closed")
	// ErrUnavailable: etcd did not answer, or not in time. A write may have happened nevertheless.
	ErrUnavailable = errors.New("etcd is unavailable")
)

// FutureRevisionError says that a read asked for a revision that did not come in time.
type FutureRevisionError struct {
	Requested int64
	Current   int64
}

func (e *FutureRevisionError) Error() string {
	return fmt.Sprintf("revision %d is in the future, current is %d", e.Requested, e.Current)
}

// Unwrap makes the error an ErrFutureRevision.
func (e *FutureRevisionError) Unwrap() error { return ErrFutureRevision }

// etcdError turns an error of etcd or its client into one of this package that wraps it. A context that
// has ended is the caller's affair: its error is returned as it is.
func etcdError(ctx context.Context, doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	}
	if kind := kindOf(err); kind != nil {
		return fmt.Errorf("%s: %w: %w", doing, kind, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// Errors of raft that etcd hands on without a code, when a member gives its leadership away and when it ends.
const (
	proposalDropped = "raft proposal dropped"
	raftStopped     = "raft: stopped"
)

// kindOf returns the sentinel an error of etcd belongs to, nil if none.
func kindOf(err error) error {
	code, text := codes.Unknown, err.Error()
	var fromServer rpctypes.EtcdError
	if errors.As(err, &fromServer) {
		code, text = fromServer.Code(), fromServer.Error()
	} else if s, ok := status.FromError(err); ok {
		code, text = s.Code(), s.Message()
	}
	switch {
	case text == rpctypes.ErrorDesc(rpctypes.ErrGRPCCompacted):
		return ErrCompacted
	case text == rpctypes.ErrorDesc(rpctypes.ErrGRPCFutureRev):
		return ErrFutureRevision
	case text == rpctypes.ErrorDesc(rpctypes.ErrGRPCRequestTooLarge):
		return ErrTooLarge
	case text == rpctypes.ErrorDesc(rpctypes.ErrGRPCRequestTooManyRequests), text == proposalDropped, text == raftStopped:
		return ErrUnavailable
	case code == codes.ResourceExhausted && text != rpctypes.ErrorDesc(rpctypes.ErrGRPCNoSpace):
		// The client's own limit on the size of messages.
		return ErrTooLarge
	case code == codes.Unavailable, code == codes.DeadlineExceeded, code == codes.Canceled,
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ErrUnavailable
	}
	return nil
}
