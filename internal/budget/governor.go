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

// Governor bounds the memory that all requests take together: for the bodies that arrive, and for the work on them. A
// request reserves the first, then the second. So requests that hold memory for work never wait.
type Governor struct {
	bodies, work pool
}

// bodiesPart is the part of a Governor's memory that is for bodies.
const bodiesPart = 4

// NewGovernor returns a Governor of so many bytes; 0 means no limit.
func NewGovernor(bytes int64) *Governor {
	if bytes <= 0 {
		return nil
	}
	g := &Governor{}
	g.bodies.init(bytes / bodiesPart)
	g.work.init(bytes - bytes/bodiesPart)
	return g
}

// pool is memory that requests share.
type pool struct {
	// share is what one user can reserve: two thirds, so that other users always find room.
	share int64
	free  *semaphore.Weighted

	// mu guards users, and requests of each.
	mu sync.Mutex
	// users has the users whose requests hold or wait for memory.
	users map[string]*share
}

func (p *pool) init(bytes int64) {
	p.share, p.free, p.users = max(1, bytes/3*2), semaphore.NewWeighted(max(1, bytes)), map[string]*share{}
}

// share is the memory that one user can reserve.
type share struct {
	free *semaphore.Weighted
	// requests counts those that use the share. Without any it is dropped.
	requests int
}

// enter returns the share of a user. The caller must call leave.
func (p *pool) enter(user string) *share {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.users[user]
	if s == nil {
		s = &share{free: semaphore.NewWeighted(p.share)}
		p.users[user] = s
	}
	s.requests++
	return s
}

// leave ends the use of a share by a request, which has released its memory.
func (p *pool) leave(user string, s *share) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.requests--; s.requests == 0 {
		delete(p.users, user)
	}
}
