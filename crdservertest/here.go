package crdservertest

import (
	"context"
	"errors"

	"github.com/crd-server/crd-server/crdserver"
)

// startHere starts a server in this process. stop stops it and returns its error.
func (s *settings) startHere(dir string, log *testLog) (_ *ready, stop func() error, err error) {
	options := s.server
	options.Logger = log.logger()
	for _, change := range s.changes {
		change(&options)
	}
	server := crdserver.New(options)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }() // stop ends it
	stop = func() error {
		cancel()
		return <-ended
	}
	select {
	case <-server.Ready():
	case err := <-ended:
		cancel()
		if err == nil {
			err = errors.New("the server has ended before it was ready")
		}
		return nil, nil, err
	}
	kubeconfig, err := writeFile(dir, "kubeconfig", server.Kubeconfig())
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return &ready{config: server.Config(), kubeconfig: kubeconfig}, stop, nil
}
