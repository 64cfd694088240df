package conversion

import (
	"net/http"

	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/boundedhttp"
)

// bounded has the webhooks that a wrapper's resolver leads to give bounded answers, and none of them tell the client to wait: it would, for
// as long as it is told to and whatever becomes of the request.
func bounded(wrapper webhook.AuthenticationInfoResolverWrapper) webhook.AuthenticationInfoResolverWrapper {
	return func(resolver webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		return boundedhttp.Configured(boundedhttp.FromWebhooks(wrapper)(resolver), func(config *rest.Config) *rest.Config {
			config = rest.CopyConfig(config)
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { return impatient{next} })
			return config
		})
	}
}

// impatient leaves out of answers when to ask again.
type impatient struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t impatient) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err == nil {
		resp.Header.Del("Retry-After")
	}
	return resp, err
}
