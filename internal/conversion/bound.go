package conversion

import (
	"net/http"

	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/boundedhttp"
)

// bounded limits the responses of webhooks, and removes Retry-After from them: client-go would wait that long even
// after the request has ended.
func bounded(wrapper webhook.AuthenticationInfoResolverWrapper) webhook.AuthenticationInfoResolverWrapper {
	return func(resolver webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		return boundedhttp.Configured(boundedhttp.FromWebhooks(wrapper)(resolver), func(config *rest.Config) *rest.Config {
			config = rest.CopyConfig(config)
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { return withoutRetryAfter{next} })
			return config
		})
	}
}

// withoutRetryAfter removes Retry-After from responses.
type withoutRetryAfter struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t withoutRetryAfter) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err == nil {
		resp.Header.Del("Retry-After")
	}
	return resp, err
}
