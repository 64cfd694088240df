package discovery

import (
	"net/http"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"

	"github.com/crd-server/crd-server/internal/wire"
)

var aggregatedCodecs = func() wire.Codecs {
	scheme := runtime.NewScheme()
	utilruntime.Must(apidiscoveryv2.AddToScheme(scheme))
	return wire.NewCodecs(scheme)
}()

// aggregatedOr returns a handler that serves the aggregated list to clients that ask for it, and all other requests by
// legacy.
func aggregatedOr(legacy http.Handler, list func() (*aggregatedList, error)) http.Handler {
	serve := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		l, err := list()
		if err != nil {
			fail(w, req, err)
			return
		}
		l.ServeHTTP(w, req)
	})
	return aggregated.WrapAggregatedDiscoveryToHandler(legacy, serve, nil)
}

// ServeHTTP does what upstream's aggregated.ResourceManager does. That one would log every version at every change.
// See docs/upstream.md, "Aggregated discovery logs each version".
func (l *aggregatedList) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if _, _, err := negotiation.NegotiateOutputMediaType(req, aggregatedCodecs,
		aggregated.DiscoveryEndpointRestrictions); err != nil {
		fail(w, req, err)
		return
	}
	header := w.Header()
	header.Set("ETag", l.etag)
	header.Set("Vary", "Accept")
	header.Set("Cache-Control", "public")
	if req.Header.Get("If-None-Match") == l.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	object := *l.object // the encoder changes its kind, and other requests may encode it at the same time
	responsewriters.WriteObjectNegotiated(aggregatedCodecs, aggregated.DiscoveryEndpointRestrictions,
		apidiscoveryv2.SchemeGroupVersion, w, req, http.StatusOK, &object, true)
}
