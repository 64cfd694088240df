package definitions

import "k8s.io/apimachinery/pkg/util/sets"

// path is one of the paths of the CRD endpoint.
type path struct {
	subresource string
	named       bool
}

var verbs = map[path]sets.Set[string]{
	{}:                                   sets.New("list", "watch", "create", "deletecollection"),
	{named: true}:                        sets.New("get", "watch", "update", "patch", "delete"),
	{named: true, subresource: "status"}: sets.New("get", "update", "patch"),
}

// HasVerb reports whether a path of the CRD endpoint has a verb. named says that the path names a CRD.
func HasVerb(verb, subresource string, named bool) bool {
	return verbs[path{subresource: subresource, named: named}].Has(verb)
}
