package discovery

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/crd-server/crd-server/internal/crds"
)

// serveV2 answers /openapi/v2: one document about everything.
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
	groups := d.discovery.currentList().all()
	var records []*crds.Record
	hash := newHash(d.discovery.version)
	for _, g := range groups {
		records = slices.AppendSeq(records, g.records())
		for _, version := range g.versions {
			hash.add(g.digest(version))
		}
	}
	d.send(w, req, &document{frame: frame, records: records, media: accepted, etag: strconv.Quote(hash.String())})
}
