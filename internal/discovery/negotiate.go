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

// The older names of the protobuf forms have an @ in them, which is not allowed in media types.
var (
	mediaV2 = []media{
		{subType: "json", contentType: wire.JSON},
		protobuf("com.github.proto-openapi.spec.v2.v1.0+protobuf", "v2"),
		protobuf("com.github.proto-openapi.spec.v2@v1.0+protobuf", "v2"),
	}
	mediaV3 = []media{
		{subType: "json", contentType: wire.JSON},
		protobuf("com.github.proto-openapi.spec.v3.v1.0+protobuf", "v3"),
		protobuf("com.github.proto-openapi.spec.v3@v1.0+protobuf", "v3"),
	}
)

func protobuf(subType, version string) media {
	return media{
		subType: subType, protobuf: true,
		contentType: "application/com.github.proto-openapi.spec." + version + ".v1.0+protobuf",
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
