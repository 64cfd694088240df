package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestCloseAfter checks when idle connections are closed: a time after the last request has ended, and never if the
// shutdown ends before.
func TestCloseAfter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		requests, shutdown time.Duration // how long they take
		closes             bool
		returns            time.Duration
	}{
		"idle connections":    {3 * time.Second, time.Minute, true, 13 * time.Second},
		"closed by clients":   {3 * time.Second, 5 * time.Second, false, 5 * time.Second},
		"requests in flight":  {time.Minute, 5 * time.Second, false, 5 * time.Second},
		"without any request": {0, time.Minute, true, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), test.shutdown)
				defer cancel()
				ended := make(chan struct{})
				time.AfterFunc(test.requests, func() { close(ended) })
				begin, closed := time.Now(), false
				closeAfter(ctx, ended, 10*time.Second, func() { closed = true })
				if took := time.Since(begin); closed != test.closes || took != test.returns {
					t.Errorf("closed: %t, after %s", closed, took)
				}
			})
		})
	}
}
