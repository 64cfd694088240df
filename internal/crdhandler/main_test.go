package crdhandler

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks at the end that no test, and no client that went away, has left a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
