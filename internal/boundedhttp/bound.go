package boundedhttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

const (
	// Floor is the size in bytes that every response may have. Objects are smaller: etcd takes 1.5 MiB, the server 3
	// MiB.
	Floor = 8 << 20
	// Factor times the size of the request is the limit of a response, if that is more than Floor.
	Factor = 4
)

// ErrTooLarge: a response exceeds its limit.
var ErrTooLarge = errors.New("the response is too large")

// Bounded returns a copy of a configuration whose clients return ErrTooLarge for responses that exceed the limit. It
// is not for watches.
func Bounded(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config) // the caller may share it
	config.Wrap(Transport)
	return config
}

// Transport returns a transport that limits responses.
func Transport(next http.RoundTripper) http.RoundTripper { return transport{next} }

type transport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	most := max(Floor, Factor*req.ContentLength)
	resp.Body = &body{ReadCloser: resp.Body, left: most, most: most}
	return resp, nil
}

// body returns ErrTooLarge when more than most bytes are read.
type body struct {
	io.ReadCloser
	left, most int64
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, b.most)
	}
	return n, err
}

// FromWebhooks returns a wrapper whose resolvers return configurations with limited responses. wrapper may be nil.
func FromWebhooks(wrapper webhook.AuthenticationInfoResolverWrapper) webhook.AuthenticationInfoResolverWrapper {
	return func(resolver webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		if wrapper != nil {
			resolver = wrapper(resolver)
		}
		return Configured(resolver, Bounded)
	}
}

// Configured returns a resolver that changes the configurations of another one. change must not modify its argument.
func Configured(
	resolver webhook.AuthenticationInfoResolver, change func(*rest.Config) *rest.Config,
) webhook.AuthenticationInfoResolver {
	changed := func(config *rest.Config, err error) (*rest.Config, error) {
		if err != nil {
			return nil, err
		}
		return change(config), nil
	}
	return &webhook.AuthenticationInfoResolverDelegator{
		ClientConfigForFunc: func(hostPort string) (*rest.Config, error) {
			return changed(resolver.ClientConfigFor(hostPort))
		},
		ClientConfigForServiceFunc: func(name, namespace string, port int) (*rest.Config, error) {
			return changed(resolver.ClientConfigForService(name, namespace, port))
		},
	}
}
