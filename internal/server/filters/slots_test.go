package filters

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestSlots checks how many slots each user can acquire after the users before.
func TestSlots(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit, cost int
		want        []int // slots of each user
	}{
		{limit: 400, cost: 1, want: []int{266, 89, 30, 10, 3, 1, 1, 0}},
		{limit: 400, cost: 20, want: []int{260, 80, 40, 20, 0}},
		{limit: 5, cost: 1, want: []int{3, 1, 1, 0}},
		{limit: 1, cost: 1, want: []int{1, 0}},
		{limit: 10, cost: 11, want: []int{0}},
	} {
		s := newSlots(test.limit)
		for n, want := range test.want {
			got := 0
			for s.acquire(fmt.Sprint("user", n), test.cost) {
				got += test.cost
			}
			if got != want {
				t.Errorf("%d slots, %d for each request: user %d gets %d, want %d", test.limit, test.cost, n, got, want)
			}
		}
	}
}

// TestSlotsBecomeFair checks that users who acquire as many slots as they can get equal shares in the end, and that
// another user can always acquire one slot.
func TestSlotsBecomeFair(t *testing.T) {
	t.Parallel()
	const limit, users = 400, 5
	random := rand.New(rand.NewPCG(1, 2))
	s := newSlots(limit)
	var served []string // a user for each slot
	for range 100 * limit {
		for n := range users {
			if user := fmt.Sprint("user", n); s.acquire(user, 1) {
				served = append(served, user)
			}
		}
		if !s.acquire("modest", 1) {
			t.Fatal("another user cannot acquire one slot")
		}
		s.release("modest", 1)
		if len(served) > 0 {
			n := random.IntN(len(served))
			s.release(served[n], 1)
			served[n] = served[len(served)-1]
			served = served[:len(served)-1]
		}
	}
	for user, held := range s.held {
		if held < limit/users*8/10 || held > limit/users*12/10 {
			t.Errorf("%s holds %d of %d", user, held, limit)
		}
	}
	for _, user := range served {
		s.release(user, 1)
	}
	if now, most := s.count(); now != 0 || most == 0 || s.free != limit || len(s.held) != 0 {
		t.Errorf("in the end: %d in flight, at most %d, %d of %d slots free, held %v", now, most, s.free, limit, s.held)
	}
}
