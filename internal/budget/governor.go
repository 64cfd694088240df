package budget

import (
	"sync"

	"golang.org/x/sync/semaphore"
)

const (
	// SmallSize is the largest size in bytes for which a request reserves nothing.
	SmallSize = 32 << 10
	// base and perByte are the budget of one request.
	base, perByte = 64 << 20, 32
)

// Of returns the memory in bytes that a request may take. size is that of its body, or of the stored object or the
// response if that is larger.
func Of(size int64) int64 { return base + perByte*size }

// Governor bounds the memory that all requests take together while they are worked on.
type Governor struct {
	// share is what one user can reserve: two thirds, so that other users always find room.
	share int64
	free  *semaphore.Weighted

	// mu guards users, and requests of each.
	mu sync.Mutex
	// users has the users whose requests hold or wait for memory.
	users map[string]*share
}

// share is the memory that one user can reserve.
type share struct {
	free *semaphore.Weighted
	// requests counts those that use the share. Without any it is dropped.
	requests int
}

// NewGovernor returns a Governor of so many bytes; 0 means no limit.
func NewGovernor(bytes int64) *Governor {
	if bytes <= 0 {
		return nil
	}
	return &Governor{share: max(1, bytes/3*2), free: semaphore.NewWeighted(bytes), users: map[string]*share{}}
}

// weigh returns what a request of this size reserves: its budget, but never more than one user can have. A request
// that may take more than that is served alone.
func (g *Governor) weigh(size int64) int64 { return min(Of(size), g.share) }

// enter returns the share of a user. The caller must call leave.
func (g *Governor) enter(user string) *share {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.users[user]
	if s == nil {
		s = &share{free: semaphore.NewWeighted(g.share)}
		g.users[user] = s
	}
	s.requests++
	return s
}

// leave ends the use of a share by a request, which has released its memory.
func (g *Governor) leave(user string, s *share) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.requests--; s.requests == 0 {
		delete(g.users, user)
	}
}
