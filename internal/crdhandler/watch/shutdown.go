package watch

import (
	"context"
	"sync"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// Shutdown is the server's shutdown signal as a context. One goroutine waits for the signal on behalf of all watches:
// one for each would take as much memory as all else of an idle watch. The zero value is ready for use; a nil
// Shutdown never ends.
type Shutdown struct {
	// start guards ended: the first watch sets it.
	start sync.Once
	ended context.Context
}

// context returns a context that ends when the server that serves ctx shuts down.
func (s *Shutdown) context(ctx context.Context) context.Context {
	if s == nil {
		return context.Background()
	}
	s.start.Do(func() {
		s.ended = context.Background()
		signal := request.ServerShutdownSignalFrom(ctx)
		if signal == nil {
			return
		}
		ended, end := context.WithCancel(context.Background())
		s.ended = ended
		go func() { // ends when the server shuts down
			<-signal.ShuttingDown()
			end()
		}()
	})
	return s.ended
}
