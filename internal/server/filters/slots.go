package filters

import (
	"math"
	"sync"
)

// fairnessFactor bounds the slots of one user: at most so many times the slots that are still free afterwards. A
// single user gets two thirds of all slots, two users who want everything get two fifths each, three get two
// sevenths, and so on. So there is always room for another user, nobody has to count users, and unused slots are not
// reserved. (Switches share memory among queues in this way: A. Choudhury, E. Hahne, "Dynamic queue length thresholds
// for shared-memory packet switches", 1998.)
const fairnessFactor = 2

// slots are the in-flight slots of one kind of requests, reads or writes. Only users with requests in flight take
// memory.
type slots struct {
	limit int

	// mu guards the fields below.
	mu   sync.Mutex
	free int
	// held counts the slots of each user.
	held map[string]int
	// requests counts those in flight, with and without slots. most is its maximum since the last call of count.
	requests, most int
}

// newSlots returns slots that are all free; 0 means no limit.
func newSlots(limit int) *slots {
	if limit == 0 {
		limit = math.MaxInt32
	}
	return &slots{limit: limit, free: limit, held: map[string]int{}}
}

// acquire takes slots for a request of a user. It reports false if too few are free, or if the user holds too many; a
// user without any always gets free ones, and a request that costs nothing is only counted. The caller releases them.
func (s *slots) acquire(user string, cost int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, free := s.held[user]+cost, s.free-cost
	if cost > 0 && (free < 0 || held > cost && held > fairnessFactor*free) {
		return false
	}
	s.held[user], s.free = held, free
	s.requests++
	s.most = max(s.most, s.requests)
	return true
}

// release ends a request that has acquired slots.
func (s *slots) release(user string, cost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests--
	s.free += cost
	if s.held[user] -= cost; s.held[user] == 0 {
		delete(s.held, user)
	}
}

// count returns the number of requests in flight, and its maximum since the last call.
func (s *slots) count() (now, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, most = s.requests, s.most
	s.most = now
	return now, most
}
