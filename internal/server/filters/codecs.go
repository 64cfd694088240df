package filters

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/wire"
)

// Codecs encodes Status objects, for handlers and filters that refuse requests.
var Codecs = newCodecs()

func newCodecs() wire.Codecs {
	scheme := runtime.NewScheme()
	v1 := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, v1)
	scheme.AddUnversionedTypes(v1, &metav1.Status{})
	return wire.NewCodecs(scheme)
}
