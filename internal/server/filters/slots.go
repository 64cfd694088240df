package server

import (
	"math"
	"sync"
)

// greed bounds what a user gets: at most so many times the seats that are still free after it. One user alone gets two thirds of all
// seats, two who want everything two fifths each, three two sevenths, and so on: there is always room for one who comes anew, nobody has to
// count who is there, and what others leave free can be used. (It is how switches share memory among queues: A. Choudhury, E. Hahne,
// "Dynamic queue length thresholds for shared-memory packet switches", 1998.)
const greed = 2

// seats are what requests of one kind take while they are served. Only users who are being served take memory.
type seats struct {
	limit int

	// mu guards the fields below.
	mu   sync.Mutex
	free int
	// held are the seats of each user.
	held map[string]int
	// requests are being served, in seats and without; most is the highest number since it was last told.
	requests, most int
}

// newSeats returns seats of which none is taken; 0 stands for no limit.
func newSeats(limit int) *seats {
	if limit == 0 {
		limit = math.MaxInt32
	}
	return &seats{limit: limit, free: limit, held: map[string]int{}}
}

// take gives a user seats for a request, if there are any and he does not hold too many already; whoever has none always may. They are to
// be given back.
func (s *seats) take(user string, width int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, free := s.held[user]+width, s.free-width
	if free < 0 || held > width && held > greed*free {
		return false
	}
	s.held[user], s.free = held, free
	s.enterLocked()
	return true
}

// giveBack is the end of a request that was given seats.
func (s *seats) giveBack(user string, width int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests--
	s.free += width
	if s.held[user] -= width; s.held[user] == 0 {
		delete(s.held, user)
	}
}

// enter counts a request that needs no seat, leave its end.
func (s *seats) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enterLocked()
}

func (s *seats) enterLocked() {
	s.requests++
	s.most = max(s.most, s.requests)
}

func (s *seats) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests--
}

// tell returns how many requests are being served, and how many were at most since it was last asked.
func (s *seats) tell() (now, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, most = s.requests, s.most
	s.most = now
	return now, most
}
