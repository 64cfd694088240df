package server

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestSeats has users take seats until they are refused, one user after the other.
func TestSeats(t *testing.T) {
	for _, test := range []struct {
		limit, width int
		want         []int // seats of each user
	}{
		{limit: 400, width: 1, want: []int{266, 89, 30, 10, 3, 1, 1, 0}},
		{limit: 400, width: 20, want: []int{260, 80, 40, 20, 0}},
		{limit: 5, width: 1, want: []int{3, 1, 1, 0}},
		{limit: 1, width: 1, want: []int{1, 0}},
		{limit: 10, width: 11, want: []int{0}},
	} {
		s := newSeats(test.limit)
		for n, want := range test.want {
			got := 0
			for s.take(fmt.Sprint("user", n), test.width) {
				got += test.width
			}
			if got != want {
				t.Errorf("%d seats, %d for each request: user %d gets %d, should be %d", test.limit, test.width, n, got, want)
			}
		}
	}
}

// TestSeatsBecomeFair has users who want all there is: in the end they have the same, and who wants one seat has got it at any time.
func TestSeatsBecomeFair(t *testing.T) {
	const limit, users = 400, 5
	random := rand.New(rand.NewPCG(1, 2))
	s := newSeats(limit)
	var served []string // a user for each seat
	for range 100 * limit {
		for n := range users {
			if user := fmt.Sprint("user", n); s.take(user, 1) {
				served = append(served, user)
			}
		}
		if !s.take("modest", 1) {
			t.Fatal("who wants one seat does not get it")
		}
		s.giveBack("modest", 1)
		if len(served) > 0 {
			n := random.IntN(len(served))
			s.giveBack(served[n], 1)
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
		s.giveBack(user, 1)
	}
	if now, most := s.tell(); now != 0 || most == 0 || s.free != limit || len(s.held) != 0 {
		t.Errorf("in the end %d are served, were at most %d, %d of %d seats are free, held are %v", now, most, s.free, limit, s.held)
	}
}
