package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

const (
	// etcdPatience is how long the server waits at start for an etcd that does not answer.
	etcdPatience = 5 * time.Second
	// The rest is as kube-apiserver has it.
	etcdDialTimeout      = 20 * time.Second
	etcdKeepAlive        = 30 * time.Second
	etcdKeepAliveTimeout = 10 * time.Second
	// etcdWindow is how much etcd may send, on a stream and on the connection, before it is read. With a fixed window gRPC does not
	// measure how much there should be, for which it would send a ping after every answer and event, and wake for its answer.
	etcdWindow = 8 << 20
)

// connectEtcd connects to an external cluster and makes sure that it answers.
func connectEtcd(ctx context.Context, o *EtcdOptions) (*storage, error) {
	security, err := o.tlsConfig()
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            o.Servers,
		DialTimeout:          etcdDialTimeout,
		DialKeepAliveTime:    etcdKeepAlive,
		DialKeepAliveTimeout: etcdKeepAliveTimeout,
		TLS:                  security,
		DialOptions:          []grpc.DialOption{grpc.WithStaticStreamWindowSize(etcdWindow), grpc.WithStaticConnWindowSize(etcdWindow)},
		Logger:               zap.NewNop(), // it would repeat, unformatted, the errors that calls return
	})
	if err != nil {
		return nil, fmt.Errorf("--etcd-servers %s: %w", strings.Join(o.Servers, ","), err)
	}
	if err := waitForEtcd(ctx, client, o, security); err != nil {
		_ = client.Close() // nothing was sent over it
		return nil, fmt.Errorf("etcd is unreachable at %s: %w", strings.Join(o.Servers, ","), err)
	}
	return &storage{client: client, close: func() { _ = client.Close() }}, nil
}

// tlsConfig returns nil unless a flag or an https URL asks for TLS.
func (o *EtcdOptions) tlsConfig() (*tls.Config, error) {
	wanted := o.CAFile != "" || o.CertFile != ""
	for _, server := range o.Servers {
		wanted = wanted || strings.HasPrefix(server, "https://")
	}
	if !wanted {
		return nil, nil
	}
	files := transport.TLSInfo{CertFile: o.CertFile, KeyFile: o.KeyFile, TrustedCAFile: o.CAFile}
	if o.CAFile != "" {
		if _, err := readPool(o.CAFile); err != nil {
			return nil, fmt.Errorf("--etcd-cafile %s: certificate is unreadable: %w", o.CAFile, err)
		}
	}
	config, err := files.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("--etcd-certfile %s with --etcd-keyfile %s: certificate is unreadable: %w", o.CertFile, o.KeyFile, err)
	}
	return config, nil
}

// waitForEtcd returns nil as soon as one endpoint answers, and after etcdPatience why the last one asked did not.
func waitForEtcd(ctx context.Context, client *clientv3.Client, o *EtcdOptions, security *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, etcdPatience)
	defer cancel()
	retry := time.NewTicker(200 * time.Millisecond)
	defer retry.Stop()
	last := errors.New("no answer")
	for {
		for _, endpoint := range o.Servers {
			err := ask(ctx, client, endpoint, security)
			if err == nil {
				return nil
			}
			if !timedOut(err) { // what went wrong says more than that there was no time left to try again
				last = err
			}
		}
		select {
		case <-ctx.Done():
			return last
		case <-retry.C:
		}
	}
}

// ask returns why an endpoint does not answer. The etcd client would only say that time is over, so a plain connection is
// tried first.
func ask(ctx context.Context, client *clientv3.Client, endpoint string, security *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, etcdPatience/3)
	defer cancel()
	u, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	connection, err := dial(ctx, u, security)
	if err != nil {
		return err
	}
	_ = connection.Close() // it has served its purpose
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
	if u.Scheme == "https" {
		return (&tls.Dialer{Config: security}).DialContext(ctx, "tcp", u.Host)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
}
