package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

const (
	maxHeaderBytes    = 1 << 20
	idleTimeout       = 90 * time.Second // that of Go's and Kubernetes' clients
	readHeaderTimeout = 32 * time.Second
	keepAlivePeriod   = 3 * time.Minute
	// streamBuffer holds nearly every object in one frame, and is small enough for every stream to have one.
	streamBuffer = 256 << 10
	// defaultStreams is used if the flag is 0. Clients begin with the same number.
	defaultStreams = 100
)

// listen returns the listener of the options, or opens the port. The server writes nothing before that.
func (o *Options) listen(ctx context.Context) (net.Listener, error) {
	if o.Listener != nil {
		return o.Listener, nil
	}
	address := net.JoinHostPort(o.Serving.BindAddress.String(), strconv.Itoa(o.Serving.SecurePort))
	config := net.ListenConfig{KeepAlive: keepAlivePeriod}
	listener, err := config.Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port %d is taken: %s: address already in use (stop the other process or choose another "+
			"--secure-port)", o.Serving.SecurePort, address)
	case err != nil:
		var opError *net.OpError
		if errors.As(err, &opError) {
			err = opError.Err
		}
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return listener, nil
}

// serverURL returns the URL of the listener for clients on this machine. If the address is not one of TCP, clients have
// to dial the listener by themselves; the name in the URL is in the serving certificate.
func serverURL(listener net.Listener) string {
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return "https://localhost"
	}
	host := address.IP.String()
	switch {
	case address.IP.Equal(net.IPv4zero):
		host = "127.0.0.1"
	case address.IP.IsUnspecified(): // of one family or both
		host = "localhost"
	}
	return "https://" + net.JoinHostPort(host, strconv.Itoa(address.Port))
}

// newHTTPServer configures HTTP/1 and HTTP/2 as kube-apiserver does. The contexts of requests are derived from base.
func newHTTPServer(base context.Context, o *ServingOptions, config *tls.Config, handler http.Handler) *http.Server {
	streams := cmp.Or(o.HTTP2MaxStreams, defaultStreams)
	return &http.Server{
		Handler:           handler,
		TLSConfig:         config,
		MaxHeaderBytes:    maxHeaderBytes,
		IdleTimeout:       idleTimeout,
		ReadHeaderTimeout: readHeaderTimeout,
		ErrorLog:          log.New(connectionLog{klog.FromContext(base)}, "", 0),
		BaseContext:       func(net.Listener) context.Context { return base },
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          streams,
			MaxReadFrameSize:              streamBuffer,
			MaxReceiveBufferPerStream:     streamBuffer,
			MaxReceiveBufferPerConnection: streamBuffer * min(streams, 8000), // stays below 2^31
		},
	}
}

// connectionLog logs net/http's messages. Failed handshakes are logged only on request, because clients often close
// connections early.
type connectionLog struct{ logger klog.Logger }

// Write implements io.Writer.
func (l connectionLog) Write(line []byte) (int, error) {
	message := strings.TrimSpace(string(line))
	if strings.HasPrefix(message, "http: TLS handshake error") {
		l.logger.V(5).Info("TLS handshake failed", "message", message)
	} else {
		l.logger.Info("HTTP server", "message", message)
	}
	return len(line), nil
}
