package watch

import (
	"context"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// signal is a shutdown signal that ends when it is closed.
type signal chan struct{}

func (s signal) ShuttingDown() <-chan struct{} { return s }

func TestShutdown(t *testing.T) {
	t.Parallel()
	server := make(signal)
	ctx := request.WithServerShutdownSignal(t.Context(), server)
	var shutdown Shutdown
	first, second := shutdown.context(ctx), shutdown.context(ctx)
	if first != second || first.Err() != nil {
		t.Errorf("contexts %v, %v", first, second)
	}
	close(server)
	<-first.Done()

	for _, never := range []*Shutdown{nil, {}} {
		if never.context(t.Context()) != context.Background() {
			t.Error("a watch without a signal may end")
		}
	}
}
