package server

import (
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
	// streamBuffer takes nearly every object in one frame, and is small enough to have one for every stream.
	streamBuffer = 256 << 10
	// defaultStreams is used when the flag leaves the number open; clients begin with the same.
	defaultStreams = 100
)

// listen takes the port. Nothing is written anywhere before that.
func listen(ctx context.Context, o *ServingOptions) (net.Listener, error) {
	address := net.JoinHostPort(o.BindAddress.String(), strconv.Itoa(o.SecurePort))
	config := net.ListenConfig{KeepAlive: keepAlivePeriod}
	listener, err := config.Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port %d is taken: %s: address already in use (stop the other process or choose another --secure-port)", o.SecurePort, address)
	case err != nil:
		var opError *net.OpError
		if errors.As(err, &opError) {
			err = opError.Err
		}
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return listener, nil
}

// serverURL is where clients on this machine reach the listener.
func serverURL(listener net.Listener) string {
	address := listener.Addr().(*net.TCPAddr)
	ip := address.IP
	switch {
	case ip.Equal(net.IPv4zero):
		ip = net.IPv4(127, 0, 0, 1)
	case ip.IsUnspecified() && loopback4Answers(address.Port):
		ip = net.IPv4(127, 0, 0, 1)
	case ip.IsUnspecified():
		ip = net.IPv6loopback
	}
	return "https://" + net.JoinHostPort(ip.String(), strconv.Itoa(address.Port))
}

// loopback4Answers tells whether a listener on all IPv6 addresses takes IPv4 connections too, as it usually does.
func loopback4Answers(port int) bool {
	connection, err := net.DialTimeout("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), time.Second)
	if err != nil {
		return false
	}
	_ = connection.Close() // nothing was said
	return true
}

// newHTTPServer sets HTTP/1 and HTTP/2 up as kube-apiserver does. Requests end with base at the latest.
func newHTTPServer(base context.Context, o *ServingOptions, config *tls.Config, handler http.Handler) *http.Server {
	streams := o.HTTP2MaxStreams
	if streams == 0 {
		streams = defaultStreams
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	return &http.Server{
		Handler:           handler,
		TLSConfig:         config,
		MaxHeaderBytes:    maxHeaderBytes,
		IdleTimeout:       idleTimeout,
		ReadHeaderTimeout: readHeaderTimeout,
		ErrorLog:          log.New(connectionLog{}, "", 0),
		BaseContext:       func(net.Listener) context.Context { return base },
		Protocols:         protocols,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          streams,
			MaxReadFrameSize:              streamBuffer,
			MaxReceiveBufferPerStream:     streamBuffer,
			MaxReceiveBufferPerConnection: streamBuffer * min(streams, 8000), // stays below 2^31
		},
	}
}

// connectionLog takes net/http's log lines: clients that give up during the handshake are nothing to worry about.
type connectionLog struct{}

func (connectionLog) Write(line []byte) (int, error) {
	message := strings.TrimSpace(string(line))
	if strings.HasPrefix(message, "http: TLS handshake error") {
		klog.V(5).InfoS("TLS handshake failed", "message", message)
	} else {
		klog.InfoS("HTTP server", "message", message)
	}
	return len(line), nil
}
