package resource

import (
	"context"
	"net/url"

	"k8s.io/apimachinery/pkg/runtime"
)

// Connect makes a subresource one whose requests kube-apiserver passes on to a kubelet, a pod or the pods of a service.
// This server does all that comes before that: it authorizes a request, reads its options and asks admission. Nothing
// can be reached from here, so the answer is an error.
type Connect struct {
	// Kind is that of the options in the version of the resource, Object is an empty one.
	Kind   string
	Object runtime.Object
	// Decode returns the options in the query of a request.
	Decode func(query url.Values) (runtime.Object, error)
	// Proxies says that any HTTP request is passed on, to the path after the subresource. The options have it as "path".
	Proxies bool
	// Creates says that the user needs the verb create, also for GET.
	Creates bool
	// Refuse returns the error that answers an admitted request.
	Refuse func(ctx context.Context, r ConnectRequest) error
}

// ConnectRequest is one request to connect to an object.
type ConnectRequest struct {
	Namespace, Name string
	Options         runtime.Object
	// Upgrades says that the client asks for another protocol, as streams need it.
	Upgrades bool
	// Read returns an object of the version, such as the node of a pod.
	Read func(ctx context.Context, plural, namespace, name string) (runtime.Object, error)
}
