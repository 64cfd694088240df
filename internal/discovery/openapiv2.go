package discovery

import (
	"net/http"
	"strconv"
)

// serveV2 serves /openapi/v2, one document about all groups.
func (d *documents) serveV2(w http.ResponseWriter, req *http.Request) {
	accepted, ok := negotiate(w, req, mediaV2)
	if !ok {
		return
	}
	frame, err := d.static.V2()
	if err != nil {
		fail(w, req, err)
		return
	}
	doc := &document{frame: frame, media: accepted}
	hashed := []string{d.discovery.version, d.static.Fingerprint()}
	for _, g := range d.discovery.current.Load().groups() {
		doc.records = append(doc.records, g.records...)
		for _, version := range g.versions {
			hashed = append(hashed, g.hashed(version)...)
		}
	}
	doc.etag = strconv.Quote(hashOf(hashed...))
	d.send(w, req, doc)
}
