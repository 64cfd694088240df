package conversion

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/boundedhttp"
	"github.com/crd-server/crd-server/internal/objectjson"
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

// limited refuses objects that a webhook has made larger than the body of a request may be.
type limited struct{ runtime.ObjectConvertor }

// ConvertToVersion implements runtime.ObjectConvertor.
func (c limited) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	out, err := c.ObjectConvertor.ConvertToVersion(in, to)
	if err != nil {
		return nil, err
	}
	switch out := out.(type) {
	case *unstructured.Unstructured:
		err = checkLimits(out)
	case *unstructured.UnstructuredList:
		for i := 0; i < len(out.Items) && err == nil; i++ {
			err = checkLimits(&out.Items[i])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("conversion webhook for %v returned invalid object: %w",
			in.GetObjectKind().GroupVersionKind(), err)
	}
	return out, nil
}

// maxEntries is how many labels and annotations an object may have of each, as in requests. A webhook can change no
// other metadata.
const maxEntries = 10_000

func checkLimits(obj *unstructured.Unstructured) error {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	for _, name := range [...]string{"labels", "annotations"} {
		if entries, _ := metadata[name].(map[string]any); len(entries) > maxEntries {
			return fmt.Errorf("metadata.%s has %d entries, at most %d are allowed", name, len(entries), maxEntries)
		}
	}
	return objectjson.CheckValue(obj.Object)
}
