package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"
)

const (
	// startTimeout bounds how long the server waits at start for an etcd that does not answer.
	startTimeout = 5 * time.Second
	startPoll    = 200 * time.Millisecond
	// dialTimeout is the value of kube-apiserver.
	dialTimeout = 20 * time.Second
	// A connection without an answer for this long is closed, and tried again. keepAlive is the shortest time that gRPC
	// and etcd allow.
	keepAlive        = 10 * time.Second
	keepAliveTimeout = 5 * time.Second
	// connectTimeout bounds one attempt to connect, to a host that does not answer.
	connectTimeout = 3 * time.Second
	// window is the size of gRPC's receive windows. With fixed windows gRPC does not send pings to measure the
	// bandwidth. See docs/upstream.md, "A ping for each request".
	window = 8 << 20
)

// reconnecting makes the client try again soon after an attempt to connect has failed. By default, gRPC waits up to two
// minutes after some attempts, and 20 seconds for a host that does not answer.
func reconnecting() grpc.DialOption {
	patience := backoff.DefaultConfig
	patience.BaseDelay, patience.MaxDelay = 100*time.Millisecond, time.Second
	return grpc.WithConnectParams(grpc.ConnectParams{Backoff: patience, MinConnectTimeout: connectTimeout})
}

// Connect connects to an external cluster, and waits until it answers.
func Connect(ctx context.Context, o *Options) (*Connection, error) {
	security, err := o.tlsConfig()
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            o.Servers,
		DialTimeout:          dialTimeout,
		DialKeepAliveTime:    keepAlive,
		DialKeepAliveTimeout: keepAliveTimeout,
		TLS:                  security,
		DialOptions: []grpc.DialOption{
			grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window), reconnecting(),
		},
		Logger: zap.NewNop(), // it would only repeat the errors that calls return
	})
	if err != nil {
		return nil, fmt.Errorf("--etcd-servers %s: %w", strings.Join(o.Servers, ","), err)
	}
	if err := waitUntilAnswers(ctx, client, o, security); err != nil {
		_ = client.Close() // nothing was sent over it
		return nil, fmt.Errorf("etcd is unreachable at %s: %w", strings.Join(o.Servers, ","), err)
	}
	return &Connection{
		Client: client, requests: clientv3.RetryKVClient(client),
		Wait:  func(ctx context.Context) error { <-ctx.Done(); return nil },
		Close: func() { _ = client.Close() },
	}, nil
}

// tlsConfig returns nil unless a flag or an https URL asks for TLS.
func (o *Options) tlsConfig() (*tls.Config, error) {
	isSecure := func(server string) bool { return strings.HasPrefix(server, "https://") }
	if o.CAFile == "" && o.CertFile == "" && !slices.ContainsFunc(o.Servers, isSecure) {
		return nil, nil
	}
	files := transport.TLSInfo{CertFile: o.CertFile, KeyFile: o.KeyFile, TrustedCAFile: o.CAFile}
	if o.CAFile != "" {
		if _, err := cert.NewPool(o.CAFile); err != nil { // TLSInfo does not say what is wrong with it
			return nil, fmt.Errorf("--etcd-cafile %s: certificate is unreadable: %w", o.CAFile, err)
		}
	}
	config, err := files.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("--etcd-certfile %s with --etcd-keyfile %s: certificate is unreadable: %w", o.CertFile,
			o.KeyFile, err)
	}
	return config, nil
}

// waitUntilAnswers returns nil as soon as one endpoint answers. After startTimeout it returns the error of the last
// attempt.
func waitUntilAnswers(ctx context.Context, client *clientv3.Client, o *Options, security *tls.Config) error {
	last := errors.New("no answer")
	attempt := func(ctx context.Context) (answered bool, err error) {
		for _, endpoint := range o.Servers {
			err := ask(ctx, client, endpoint, security)
			if err == nil {
				return true, nil
			}
			if !timedOut(err) { // another error says more than a timeout
				last = err
			}
		}
		return false, nil
	}
	if wait.PollUntilContextTimeout(ctx, startPoll, startTimeout, true, attempt) != nil {
		return last
	}
	return nil
}

// ask returns the reason why an endpoint does not answer. The etcd client would only report a timeout, so ask tries a
// plain connection first. See docs/upstream.md, "Unreachable endpoints are timeouts".
func ask(ctx context.Context, client *clientv3.Client, endpoint string, security *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout/3)
	defer cancel()
	u, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	connection, err := dial(ctx, u, security)
	if err != nil {
		return err
	}
	_ = connection.Close() // nothing was sent over it
	_, err = client.Status(ctx, endpoint)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s, ok := status.FromError(err); ok && err != nil {
		return errors.New(s.Message())
	}
	return err
}

func timedOut(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

func dial(ctx context.Context, u *url.URL, security *tls.Config) (net.Conn, error) {
	switch u.Scheme {
	case "https":
		return (&tls.Dialer{Config: security}).DialContext(ctx, "tcp", u.Host)
	case "unix":
		return (&net.Dialer{}).DialContext(ctx, "unix", u.Path)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
}
