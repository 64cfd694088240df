package discovery

import (
	"net/http"
	"strconv"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"

	"github.com/crd-server/crd-server/internal/wire"
)

// aggregatedCodecs encode the aggregated list for clients that want neither plain JSON nor protobuf.
var aggregatedCodecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	utilruntime.Must(apidiscoveryv2.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme)
}()

// aggregatedOr answers requests for the aggregated list, and leaves the others to legacy.
func aggregatedOr(legacy http.Handler, current func() *groupList) http.Handler {
	everything := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		serveAggregated(w, req, current())
	})
	return aggregated.WrapAggregatedDiscoveryToHandler(legacy, everything, nil)
}

func serveAggregated(w http.ResponseWriter, req *http.Request, l *groupList) {
	if err := l.aggregate(); err != nil {
		fail(w, req, err)
		return
	}
	media, accepted, err := negotiation.NegotiateOutputMediaType(req, aggregatedCodecs, aggregated.DiscoveryEndpointRestrictions)
	if err != nil {
		fail(w, req, err)
		return
	}
	header := w.Header()
	etag := strconv.Quote(l.etag)
	header.Set("ETag", etag)
	header.Set("Vary", "Accept")
	header.Set("Cache-Control", "public")
	if req.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body, err := l.encode(accepted)
	switch {
	case err != nil:
		fail(w, req, err)
	case body == nil:
		l.writeObject(w, req)
	default:
		contentType := accepted.MediaType + ";g=" + media.Convert.Group + ";v=" + media.Convert.Version + ";as=" + media.Convert.Kind
		// An error here is the client's leaving.
		_ = wire.WriteBody(w, req, http.StatusOK, contentType, body)
	}
}

// encode joins the items of the groups. It returns nil for forms they are not kept in.
func (l *groupList) encode(form runtime.SerializerInfo) ([]byte, error) {
	switch {
	case form.MediaType == runtime.ContentTypeProtobuf:
		return l.protobuf()
	case form.MediaType == runtime.ContentTypeJSON && form.Serializer != form.PrettySerializer:
		return l.json(), nil
	}
	return nil, nil
}

// writeObject encodes the list by upstream's serializers: YAML, and whatever comes after it.
func (l *groupList) writeObject(w http.ResponseWriter, req *http.Request) {
	object := &apidiscoveryv2.APIGroupDiscoveryList{Items: []apidiscoveryv2.APIGroupDiscovery{}}
	for _, g := range l.all() {
		object.Items = append(object.Items, *g.aggregated())
	}
	responsewriters.WriteObjectNegotiated(aggregatedCodecs, aggregated.DiscoveryEndpointRestrictions,
		apidiscoveryv2.SchemeGroupVersion, w, req, http.StatusOK, object, true)
}
