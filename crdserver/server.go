package crdserver

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crd-server/crd-server/internal/server"
)

// Server is a server in this process. New makes it, and Run runs it.
type Server struct {
	options Options
	begun   atomic.Bool
	ready   chan struct{} // closed by setReady, after it has set the fields below

	config     *rest.Config
	kubeconfig []byte
}

// New returns a server that does not run yet. Run reports mistakes in the options.
func New(options Options) *Server {
	return &Server{options: options, ready: make(chan struct{})}
}

// Run serves until ctx is done. Then it stops in order: /readyz fails, watches end, new requests are refused, those in
// flight are waited for (see Options.ShutdownTimeout), and nil is returned. When Run returns, nothing of the server is
// left in the process. An error is a readable line. A server runs only once.
func (s *Server) Run(ctx context.Context) error {
	if s.begun.Swap(true) {
		return errors.New("crdserver: Run was called before; a server runs only once")
	}
	if s.options.Listener != nil {
		defer s.options.Listener.Close() // if the server does not begin to serve; it closes it otherwise
	}
	o, err := s.options.complete()
	if err != nil {
		return err
	}
	var failed error
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o.OnReady = func(kubeconfig []byte) {
		if failed = s.setReady(kubeconfig); failed != nil {
			cancel(failed)
		}
	}
	valid, err := o.Validate()
	if err != nil {
		return err
	}
	return errors.Join(server.Run(ctx, valid), failed)
}

// Ready returns a channel that is closed when the server is ready: it serves, and its CRDs are established. The channel
// stays open if Run fails before, so wait for the end of Run too.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Config returns the configuration of clients that may do everything (system:masters). It has no rate limit. Each call
// returns a new copy. It is nil before the server is ready.
func (s *Server) Config() *rest.Config {
	select {
	case <-s.ready:
		return rest.CopyConfig(s.config)
	default:
		return nil
	}
}

// Kubeconfig returns the kubeconfig of the same user, with the certificates in it. It is of no use to other processes
// if the listener is in memory. It is nil before the server is ready.
func (s *Server) Kubeconfig() []byte {
	select {
	case <-s.ready:
		return slices.Clone(s.kubeconfig)
	default:
		return nil
	}
}

// setReady sets what the methods of a ready server return, and closes ready.
func (s *Server) setReady(kubeconfig []byte) error {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Dial = -1, dialer(s.options.Listener)
	s.config, s.kubeconfig = config, kubeconfig
	close(s.ready)
	return nil
}

// contextDialer is a listener in memory that makes connections to itself, such as that of bufconn.
type contextDialer interface {
	DialContext(ctx context.Context) (net.Conn, error)
}

// dialer returns the function that connects clients to a listener; nil if the URL in the kubeconfig is enough.
func dialer(listener net.Listener) func(ctx context.Context, network, address string) (net.Conn, error) {
	if listener == nil {
		return nil
	}
	if inMemory, ok := listener.(contextDialer); ok {
		return func(ctx context.Context, _, _ string) (net.Conn, error) { return inMemory.DialContext(ctx) }
	}
	address := listener.Addr()
	if _, ok := address.(*net.TCPAddr); ok {
		return nil
	}
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, address.Network(), address.String())
	}
}
