package resource

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Connect makes a subresource one whose requests kube-apiserver passes on to a kubelet, a pod or the pods of a service.
// This server does all that comes before that: it authorizes a request, reads its options and asks admission. Then it
// answers with an error.
type Connect struct {
	// Kind is that of the options in the version of the resource, Object is an empty one.
	Kind   string
	Object runtime.Object
	// Proxies says that any HTTP request is passed on, to the path after the subresource. The options have it as "path".
	// Other connections are streams, for which the user needs the verb create, also for GET.
	Proxies bool
}

// NewStream returns a subresource for streams, with an empty object of its options.
func NewStream(name string, options runtime.Object) Subresource {
	return Subresource{Name: name, Verbs: []string{"create", "get"}, Connect: &Connect{
		Kind: reflect.TypeOf(options).Elem().Name(), Object: options,
	}}
}

// NewProxy returns the subresource proxy, with an empty object of its options.
func NewProxy(options runtime.Object) Subresource {
	return Subresource{Name: "proxy", Verbs: []string{"create", "delete", "get", "patch", "update"}, Connect: &Connect{
		Kind: reflect.TypeOf(options).Elem().Name(), Object: options, Proxies: true,
	}}
}
