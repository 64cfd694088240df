package conversion

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// A webhook is somebody else's program. What it answers may cost what its question is worth, and no more.
const (
	// answerFloor is how many bytes any answer may have. Objects are smaller: etcd takes 1.5 MiB, the server 3 MiB.
	answerFloor = 8 << 20
	// answerFactor is how many times as large as the question an answer may be beyond that.
	answerFactor = 4
)

// errAnswerTooLarge says that a webhook has answered with more than it may.
var errAnswerTooLarge = errors.New("the webhook's answer is too large")

// bounded has the clients that a wrapper's resolver configures read bounded answers.
func bounded(wrapper webhook.AuthenticationInfoResolverWrapper) webhook.AuthenticationInfoResolverWrapper {
	return func(resolver webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		if wrapper != nil {
			resolver = wrapper(resolver)
		}
		return boundedResolver{resolver}
	}
}

type boundedResolver struct {
	resolver webhook.AuthenticationInfoResolver
}

func (r boundedResolver) ClientConfigFor(hostPort string) (*rest.Config, error) {
	return withBound(r.resolver.ClientConfigFor(hostPort))
}

func (r boundedResolver) ClientConfigForService(name, namespace string, port int) (*rest.Config, error) {
	return withBound(r.resolver.ClientConfigForService(name, namespace, port))
}

func withBound(config *rest.Config, err error) (*rest.Config, error) {
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config) // others may use it
	config.Wrap(func(transport http.RoundTripper) http.RoundTripper { return boundedTransport{transport} })
	return config, nil
}

// boundedTransport bounds what is read of answers, and lets none of them tell the client to wait: it would, for as long as it is
// told to and whatever becomes of the request.
type boundedTransport struct{ next http.RoundTripper }

func (t boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Header.Del("Retry-After")
	most := max(answerFloor, answerFactor*req.ContentLength)
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: most, most: most}
	return resp, nil
}

// boundedBody fails when more is read than there may be.
type boundedBody struct {
	io.ReadCloser
	left, most int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("%w: more than %d bytes", errAnswerTooLarge, b.most)
	}
	return n, err
}
