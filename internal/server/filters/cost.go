package server

import (
	"net/http"
	"slices"
	"strconv"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// bytesPerSeat is what one seat stands for; it is that of kube-apiserver's estimates of lists.
const bytesPerSeat = 100_000

// sizes tells how many objects a resource has, and about how many bytes; both are negative if that is not known.
type sizes func(group, plural string) (objects int, bytes int64)

// ask returns which seats a request takes, and how many: as many as it has to go through, or brings along, but no more than a twentieth, so
// that even the largest can be served beside others.
func (f *inFlight) ask(req *http.Request, info *request.RequestInfo) (kind *seats, width int) {
	kind = f.reads
	var bytes int64
	switch {
	case !slices.Contains(readVerbs, info.Verb):
		kind, bytes = f.writes, req.ContentLength // -1 if it does not say
	case info.Verb == "list" && info.Name == "": // with a name it reads that one
		bytes = f.listed(req, info)
	}
	most := max(1, kind.limit/20)
	if bytes < 0 {
		return kind, most
	}
	return kind, min(most, 1+int(bytes/bytesPerSeat))
}

// readVerbs are those of requests that count as reads; the list is kube-apiserver's.
var readVerbs = []string{"get", "list", "watch"}

// listed estimates the bytes of a list; negative if that cannot be told. A page is part of it. What a selector or a namespace leaves
// away is not foreseen, nor is it by kube-apiserver.
func (f *inFlight) listed(req *http.Request, info *request.RequestInfo) int64 {
	objects, bytes := f.size(info.APIGroup, info.Resource)
	if objects > 0 && req.URL.RawQuery != "" {
		if limit, err := strconv.Atoi(req.URL.Query().Get("limit")); err == nil && limit > 0 && limit < objects {
			return bytes / int64(objects) * int64(limit)
		}
	}
	return bytes
}
