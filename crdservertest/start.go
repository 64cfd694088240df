package crdservertest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Start starts a server that stops with the test, and waits until it is ready. It returns the configuration of clients
// that may do everything, and the path of a kubeconfig for the same user. A failure ends the test.
//
// Cleanups run in reverse order, so what a test starts after Start and ends by t.Cleanup ends before the server does.
func Start(t testing.TB, options ...Option) (config *rest.Config, kubeconfig string) {
	t.Helper()
	s := &settings{verbosity: -1}
	s.server.ShutdownTimeout = time.Nanosecond // nobody waits for the answer to a request of a test that has ended
	for _, option := range options {
		option(s)
	}
	log := newTestLog(t, s.verbosity)
	ready, stop, err := s.start(t.TempDir(), log)
	if err != nil {
		t.Fatalf("crdservertest: %v", err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("crdservertest: the server has failed: %v", err)
		}
		log.end()
	})
	return ready.config, ready.kubeconfig
}

// starting has an element for each server that starts. If many tests begin at the same time, servers are ready sooner
// one after the other than all together.
var starting = make(chan struct{}, 2*runtime.GOMAXPROCS(0))

// start starts a server. stop stops it and returns its error.
func (s *settings) start(dir string, log *testLog) (_ *ready, stop func() error, err error) {
	starting <- struct{}{}
	defer func() { <-starting }()
	if s.child {
		return s.startChild(dir, log)
	}
	return s.startHere(dir, log)
}

// ready is a server that is ready.
type ready struct {
	config     *rest.Config
	kubeconfig string
}

// writeFile writes a file that only the owner can read, and returns its path.
func writeFile(dir, name string, content []byte) (string, error) {
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, content, 0o600)
}
