package filters

import (
	"net/http"
	"slices"
	"strconv"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// bytesPerSlot is the work of one slot, as in kube-apiserver's estimates of lists.
const bytesPerSlot = 100_000

// Sizes returns how many objects a resource has, and about how many bytes; both are negative if that is not known.
type Sizes func(group, plural string) (objects int, bytes int64)

// cost returns which slots a request takes, and how many: by the bytes that it reads or sends, but at most a
// twentieth of all slots, so that several large requests can be served at the same time.
func (f *inFlight) cost(req *http.Request, info *request.RequestInfo) (kind *slots, cost int) {
	kind = f.reads
	var bytes int64
	switch {
	case !slices.Contains(readVerbs, info.Verb):
		kind, bytes = f.writes, req.ContentLength // -1 if unknown
	case info.Verb == "list" && info.Name == "": // a list with a name reads one object
		bytes = f.listedBytes(req, info)
	}
	most := max(1, kind.limit/20)
	if bytes < 0 {
		return kind, most
	}
	return kind, min(most, 1+int(bytes/bytesPerSlot))
}

// readVerbs are the verbs that count as reads. The list is kube-apiserver's.
var readVerbs = []string{"get", "list", "watch"}

// listedBytes estimates the bytes that a list reads; negative if that is not known. A limit counts. Selectors and
// namespaces do not, as in kube-apiserver.
func (f *inFlight) listedBytes(req *http.Request, info *request.RequestInfo) int64 {
	objects, bytes := f.Sizes(info.APIGroup, info.Resource)
	if objects > 0 && req.URL.RawQuery != "" {
		if limit, err := strconv.Atoi(req.URL.Query().Get("limit")); err == nil && limit > 0 && limit < objects {
			return bytes / int64(objects) * int64(limit)
		}
	}
	return bytes
}
