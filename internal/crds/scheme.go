package crds

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/wire"
)

// Scheme has the types of apiextensions.k8s.io (internal, v1 and v1beta1, with conversion and defaulting), and the
// unversioned meta types that any response may contain.
var Scheme = newScheme()

// Codecs are the serializers of apiextensions.k8s.io that clients may request.
var Codecs = wire.NewCodecs(Scheme)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	scheme.AddUnversionedTypes(unversioned,
		&metav1.Status{},
		&metav1.WatchEvent{},
		&metav1.APIVersions{},
		&metav1.APIGroupList{},
		&metav1.APIGroup{},
		&metav1.APIResourceList{},
	)
	return scheme
}
