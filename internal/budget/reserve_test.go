package budget

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

const mega = 1 << 20

// forWork returns a Governor with so many bytes for work.
func forWork(bytes int64) *Governor { return NewGovernor(bytes * bodiesPart / (bodiesPart - 1)) }

// begun returns a request of a user.
func begun(ctx context.Context, g *Governor, name string) (context.Context, *Reservation) {
	return g.Begin(request.WithUser(ctx, &user.DefaultInfo{Name: name}))
}

// mustReserve reserves memory for a request of a user, until the returned function is called.
func mustReserve(t *testing.T, g *Governor, name string, size int) (end func()) {
	t.Helper()
	ctx, r := begun(t.Context(), g, name)
	if err := Reserve(ctx, size); err != nil {
		t.Fatalf("%s cannot reserve memory for %d bytes: %v", name, size, err)
	}
	return r.End
}

// used returns the bytes that are reserved for work.
func (g *Governor) used(capacity int64) int64 {
	free := capacity
	for free > 0 && !g.work.free.TryAcquire(free) {
		free -= mega
	}
	g.work.free.Release(free)
	return capacity - free
}

// empty fails the test if memory or users remain.
func (g *Governor) empty(t *testing.T, capacity int64) {
	t.Helper()
	if used := g.used(capacity); used != 0 || len(g.work.users) != 0 {
		t.Errorf("in the end %d bytes are reserved, for %d users", used, len(g.work.users))
	}
}

func TestSmallRequestsReserveNothing(t *testing.T) {
	t.Parallel()
	g := NewGovernor(1)
	for range 1000 {
		ctx, _ := begun(t.Context(), g, "jane")
		if err := Reserve(ctx, SmallSize); err != nil {
			t.Fatal(err)
		}
	}
	g.empty(t, 1)
	for _, ctx := range []context.Context{t.Context(),
		func() context.Context { ctx, _ := begun(t.Context(), nil, "jane"); return ctx }()} {
		if err := Reserve(ctx, 1<<30); err != nil {
			t.Errorf("without a limit: %v", err)
		}
	}
}

// TestManyRequestsTakeOneBudget runs large requests of several users at the same time, and counts the bytes that they
// may take together.
func TestManyRequestsTakeOneBudget(t *testing.T) {
	t.Parallel()
	const capacity = 512 * mega
	g := forWork(capacity)
	var taken, most, served atomic.Int64
	var working sync.WaitGroup
	for n := range 200 {
		size := 1 + rand.IntN(3*mega)
		working.Go(func() {
			ctx, r := begun(t.Context(), g, fmt.Sprint("user", n%5))
			defer r.End()
			if err := Reserve(ctx, size); err != nil {
				t.Error(err)
				return
			}
			if size > SmallSize {
				now := taken.Add(Of(int64(size)))
				for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
				}
				defer taken.Add(-Of(int64(size)))
			}
			served.Add(1)
		})
	}
	working.Wait()
	if served.Load() != 200 || most.Load() > capacity || most.Load() == 0 {
		t.Errorf("%d requests were served; at most they may have taken %d MiB together", served.Load(), most.Load()/mega)
	}
	g.empty(t, capacity)
}

// TestUsersLeaveRoom checks that a user who reserves all he can get does not block another user.
func TestUsersLeaveRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const capacity = 512 * mega
		g := forWork(capacity)
		for range 2 {
			defer mustReserve(t, g, "greedy", 3*mega)()
		}
		var answers sync.WaitGroup
		for range 10 {
			answers.Go(func() {
				ctx, r := begun(t.Context(), g, "greedy")
				defer r.End()
				if err := Reserve(ctx, 3*mega); !apierrors.IsTooManyRequests(err) {
					t.Errorf("a user can reserve more than a share: %v", err)
				} else if seconds, ok := apierrors.SuggestsClientDelay(err); !ok || seconds != retryAfter {
					t.Errorf("%v does not say when to try again", err)
				}
			})
		}
		synctest.Wait()
		mustReserve(t, g, "modest", 3*mega)()
		answers.Wait()
		if used := g.used(capacity); used != 2*Of(3*mega) {
			t.Errorf("%d bytes are reserved", used)
		}
	})
}

// TestWaitEnds checks how the wait for memory ends: when memory is released, after a quarter of the time of a request,
// and with its context.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const capacity = 200 * mega
		g := forWork(capacity)
		release := mustReserve(t, g, "first", 2*mega)
		reserve := func(ctx context.Context) error {
			ctx, r := begun(ctx, g, "second")
			defer r.End()
			return Reserve(ctx, 2*mega)
		}
		limited, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := reserve(limited); !apierrors.IsTooManyRequests(err) || time.Since(began) != 15*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		gone, leave := context.WithCancel(t.Context())
		go leave() // at once
		if err := reserve(gone); !apierrors.IsTimeout(err) {
			t.Errorf("after the client has gone: %v", err)
		}
		done := make(chan error)
		go func() { done <- reserve(t.Context()) }() // ends when the memory is released
		synctest.Wait()
		release()
		if err := <-done; err != nil {
			t.Error(err)
		}
		g.empty(t, capacity)
	})
}

// TestReserveAgain checks that a request can reserve more, but does not wait for that.
func TestReserveAgain(t *testing.T) {
	t.Parallel()
	const capacity = 280 * mega
	g := forWork(capacity)
	ctx, r := begun(t.Context(), g, "jane")
	for _, size := range []int{mega, mega / 2, 2 * mega} {
		if err := Reserve(ctx, size); err != nil {
			t.Fatal(err)
		}
	}
	if used := g.used(capacity); used < Of(2*mega) || used >= Of(3*mega) {
		t.Errorf("%d bytes are reserved", used)
	}
	other := mustReserve(t, g, "peter", 2*mega)
	if err := Reserve(ctx, 3*mega); !apierrors.IsTooManyRequests(err) {
		t.Errorf("got %v", err)
	}
	other()
	r.End()
	if err := Reserve(ctx, 3*mega); !apierrors.IsTimeout(err) {
		t.Errorf("after the end: %v", err)
	}
	g.empty(t, capacity)
}

// TestLargerThanAll checks that a request that may take more than there is can be served alone, and that requests of
// the server to itself do not wait.
func TestLargerThanAll(t *testing.T) {
	t.Parallel()
	g := NewGovernor(100 * mega)
	defer mustReserve(t, g, "jane", 1<<30)()
	mustReserve(t, g, user.APIServerUser, 1<<30)()
}

func BenchmarkSmallRequest(b *testing.B) {
	g := NewGovernor(512 * mega)
	b.ReportAllocs()
	for b.Loop() {
		ctx, r := g.Begin(b.Context())
		if err := Reserve(ctx, 1000); err != nil {
			b.Fatal(err)
		}
		r.End()
	}
}

// TestBodiesWaitBeforeTheyAreRead checks that bodies and work share no memory: a user whose bodies wait for work can
// fill the memory of bodies, and the work still ends.
func TestBodiesWaitBeforeTheyAreRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGovernor(1024 * mega)
		var requests sync.WaitGroup
		var served, refused atomic.Int64
		for range 400 {
			requests.Go(func() {
				ctx, r := begun(t.Context(), g, "jane")
				defer r.End()
				err := ReserveBody(ctx, 3*mega)
				if err == nil {
					err = Reserve(ctx, 3*mega)
				}
				switch {
				case err == nil:
					served.Add(1)
					<-time.After(time.Second)
				case apierrors.IsTooManyRequests(err):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if free := g.bodies.share; free < 50*3*mega || g.used(768*mega) != 3*Of(3*mega) {
			t.Errorf("%d MiB are for bodies of a user, %d MiB are used for work", free/mega, g.used(768*mega)/mega)
		}
		requests.Wait()
		if served.Load() < 30 || served.Load()+refused.Load() != 400 {
			t.Errorf("%d requests were served, %d refused", served.Load(), refused.Load())
		}
		g.empty(t, 768*mega)
		if len(g.bodies.users) != 0 || !g.bodies.free.TryAcquire(256*mega) {
			t.Error("in the end memory is reserved for bodies")
		}
	})
}
