package discovery

import (
	"net/http"
	"strings"

	"github.com/munnerz/goautoneg"

	"github.com/crd-server/crd-server/internal/wire"
)

// media is a media type of OpenAPI documents.
type media struct {
	subType     string
	contentType string
	protobuf    bool
}

var mediaV2, mediaV3 = mediaOf("v2"), mediaOf("v3")

// mediaOf returns the media types of a version. The older name of the protobuf form has an @ in it, which is not
// allowed in media types.
func mediaOf(version string) []media {
	name := "com.github.proto-openapi.spec." + version
	protobuf := "application/" + name + ".v1.0+protobuf"
	return []media{
		{"json", wire.JSON, false}, {name + ".v1.0+protobuf", protobuf, true}, {name + "@v1.0+protobuf", protobuf, true},
	}
}

// negotiate returns the media type that the client prefers. It sends 406 if the client accepts none.
func negotiate(w http.ResponseWriter, req *http.Request, offered []media) (media, bool) {
	w.Header().Add("Vary", "Accept")
	accept := req.Header.Get("Accept")
	if accept == "" {
		accept = "*/*"
	}
	for _, clause := range goautoneg.ParseAccept(accept) {
		for _, m := range offered {
			if (clause.Type == "application" || clause.Type == "*") && (clause.SubType == m.subType || clause.SubType == "*") {
				return m, true
			}
		}
	}
	w.WriteHeader(http.StatusNotAcceptable)
	return media{}, false
}

// unchanged says whether the client has the document with an ETag.
func unchanged(req *http.Request, etag string) bool {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return false
	}
	for _, line := range req.Header.Values("If-None-Match") {
		for candidate := range strings.SplitSeq(line, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if candidate == etag || candidate == "*" {
				return true
			}
		}
	}
	return false
}
