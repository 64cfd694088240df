package crdhandler

import (
	"testing"

	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// TestMain checks at the end that no test, and no client that went away, has left a goroutine behind.
func TestMain(m *testing.M) {
	// They tell of what is broken, after a pause, and after that time in a bubble of synctest was the machine's: managed fields that two
	// have made were of different seconds now and then.
	utilruntime.ErrorHandlers = nil
	goleak.VerifyTestMain(m)
}
