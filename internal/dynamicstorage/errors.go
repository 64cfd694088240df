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
	// ErrNotFound: the key does not exist.
	ErrNotFound = errors.New("key not found")
	// ErrCompacted: etcd has compacted the revision. The client has to read the present state.
	ErrCompacted = errors.New("revision has been compacted")
	// ErrFutureRevision: the revision does not exist yet; the error is a *FutureRevisionError.
	ErrFutureRevision = errors.New("revision is in the future")
)

// Writes.
var (
	// ErrTooLarge: etcd does not accept a request of that size.
	ErrTooLarge = errors.New("request is too large")
	// ErrInvalidKey: the key is neither "name" nor "namespace/name".
	ErrInvalidKey = errors.New("invalid key")
	// ErrConflict: the key was changed after the entry was read. Nothing was written.
	ErrConflict = errors.New("key has been changed")
	// ErrUnconfirmed: the connection to etcd was lost, or etcd gave up, while the write was under way. It may have
	// been carried out.
	ErrUnconfirmed = errors.New("the write may have been carried out")
)

// Checks.
var (
	// ErrInconsistent: the cache differs from etcd.
	ErrInconsistent = errors.New("cache inconsistent with etcd")
	// ErrNotLoaded: the resource is not in memory.
	ErrNotLoaded = errors.New("resource is not in memory")
)

// All operations.
var (
	// ErrClosed: the resource was released, or the store has stopped.
	ErrClosed = errors.New("closed")
	// ErrUnavailable: etcd did not answer in time. Unless the error is also an ErrUnconfirmed, nothing was written.
	ErrUnavailable = errors.New("etcd is unavailable")
)

// FutureRevisionError is the error of a read of a revision that etcd has not reached.
type FutureRevisionError struct {
	Requested int64
	Current   int64
}

func (e *FutureRevisionError) Error() string {
	return fmt.Sprintf("revision %d is in the future, current is %d", e.Requested, e.Current)
}

// Unwrap makes the error an ErrFutureRevision.
func (e *FutureRevisionError) Unwrap() error { return ErrFutureRevision }

// etcdError wraps an error of etcd or its client, and adds one of the errors above if one fits. If the caller's
// context has ended, it returns the cause of that instead.
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

// Errors of raft that etcd returns without a code, when a member transfers its leadership and when it stops.
const (
	proposalDropped = "raft proposal dropped"
	raftStopped     = "raft: stopped"
)

// kindOf returns the sentinel error that fits an error of etcd, or nil.
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
		// the client's own limit on the size of messages
		return ErrTooLarge
	case code == codes.Unavailable, code == codes.DeadlineExceeded, code == codes.Canceled,
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ErrUnavailable
	}
	return nil
}
