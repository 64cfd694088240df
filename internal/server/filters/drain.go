package filters

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/waitgroup"
)

// Drain knows the requests in flight, so that a server can stop without breaking them off.
type Drain struct {
	stopping chan struct{}
	// ending is closed when no more requests are taken: watches end.
	ending            chan struct{}
	requests, watches waitgroup.SafeWaitGroup
}

// NewDrain returns a Drain of a server that is not stopping.
func NewDrain() *Drain {
	return &Drain{stopping: make(chan struct{}), ending: make(chan struct{})}
}

// Stop says that the server was asked to stop.
func (d *Drain) Stop() { close(d.stopping) }

// Stopping returns a channel that Stop closes.
func (d *Drain) Stopping() <-chan struct{} { return d.stopping }

// End ends watches, and refuses further requests on open connections. It does not wait: ended is closed when the last
// request in flight has ended.
func (d *Drain) End() (ended <-chan struct{}) {
	close(d.ending)
	done := make(chan struct{})
	go func() { // ends with the last request in flight
		defer close(done)
		// Each Wait refuses further requests, so both begin at once.
		var watches sync.WaitGroup
		watches.Go(d.watches.Wait)
		d.requests.Wait()
		watches.Wait()
	}()
	return done
}

// ShuttingDown returns a channel that End closes; it implements request.ServerShutdownSignal.
func (d *Drain) ShuttingDown() <-chan struct{} { return d.ending }
