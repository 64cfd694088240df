package objectmeta

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ErrNoName answers a request without a name in its path that needs one.
var ErrNoName = apierrors.NewBadRequest("name must be provided")

// MatchNamespace sets the namespace of an object to that of the request. The error says that the object names another
// one.
func MatchNamespace(namespace string, m metav1.Object) error {
	switch own := m.GetNamespace(); {
	case own == namespace:
		return nil
	case own == "" || namespace == "":
		m.SetNamespace(namespace)
		return nil
	}
	return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
}

// MatchName checks that an object is the one its URL names.
func MatchName(obj runtime.Object, namespace, name string) error {
	m := Accessor(obj)
	switch own := m.GetName(); {
	case own == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: %v", name,
			ErrNoName))
	case own != name:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", own,
			name))
	}
	if own := m.GetNamespace(); namespace != "" && own != "" && own != namespace {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the namespace of the object (%s) does not match the namespace on the request (%s)", own, namespace))
	}
	return nil
}

// PathSegment validates a name as a segment of a URL path, which every name must be.
func PathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}
