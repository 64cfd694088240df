package answers

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

const (
	// Floor is how many bytes any answer may have. Objects are smaller: etcd takes 1.5 MiB, the server 3 MiB.
	Floor = 8 << 20
	// Factor is how many times as large as the question an answer may be beyond that.
	Factor = 4
)

// ErrTooLarge says that there is more of an answer than there may be.
var ErrTooLarge = errors.New("the answer is too large")

// Bounded returns a copy of a configuration, whose clients fail with ErrTooLarge when there is more of an answer than there may be. It is not
// for watches.
func Bounded(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config) // others may use it
	config.Wrap(Transport)
	return config
}

// Transport returns a transport of bounded answers.
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

// body fails when more is read than there may be.
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

// FromWebhooks has the webhooks that a wrapper's resolver leads to give bounded answers. wrapper may be nil.
func FromWebhooks(wrapper webhook.AuthenticationInfoResolverWrapper) webhook.AuthenticationInfoResolverWrapper {
	return func(resolver webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		if wrapper != nil {
			resolver = wrapper(resolver)
		}
		return Configured(resolver, Bounded)
	}
}

// Configured returns a resolver that leads to the same webhooks with other configurations. The function is not to modify what it is given.
func Configured(resolver webhook.AuthenticationInfoResolver, change func(*rest.Config) *rest.Config) webhook.AuthenticationInfoResolver {
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
