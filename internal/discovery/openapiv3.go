package discovery

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/kube-openapi/pkg/handler3"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/wire"
)

const pathV3 = "/openapi/v3"

// serveV3 serves /openapi/v3 and the documents below it.
func (d *documents) serveV3(w http.ResponseWriter, req *http.Request) {
	path := strings.Trim(strings.TrimPrefix(req.URL.Path, pathV3), "/")
	if path == "" {
		d.discovery.synced(http.HandlerFunc(d.serveIndex)).ServeHTTP(w, req)
		return
	}
	doc, hash, err := d.find(path)
	switch {
	case err != nil:
		fail(w, req, err)
	case doc != nil:
		d.serveDocument(w, req, doc, path, hash)
	case !d.discovery.table.HasSynced():
		unavailable(w, req)
	default:
		notFound(w, req)
	}
}

// serveDocument sends one document. A client that sends its hash may cache the document for ever. The server redirects
// a client that sends another hash.
func (d *documents) serveDocument(w http.ResponseWriter, req *http.Request, doc *document, path, hash string) {
	accepted, ok := negotiate(w, req, mediaV3)
	if !ok {
		return
	}
	doc.media, doc.etag = accepted, strconv.Quote(hash)
	header := w.Header()
	if asked := req.URL.Query().Get("hash"); asked != "" {
		if asked != hash {
			header.Set("Etag", doc.etag)
			header.Set("Content-Type", accepted.contentType)
			http.Redirect(w, req, relativeURL(path, hash), http.StatusMovedPermanently)
			return
		}
		header.Set("Cache-Control", "public, immutable")
		header.Set("Expires", time.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
	}
	d.send(w, req, doc)
}

// find returns the document of a path and its hash, or nil if none is known.
func (d *documents) find(path string) (*document, string, error) {
	frame, err := d.static.DocumentV3(path)
	if err != nil {
		return nil, "", err
	}
	if frame != nil {
		return &document{frame: frame}, d.staticHash(path), nil
	}
	segments := strings.Split(path, "/")
	if len(segments) != 3 || segments[0] != "apis" || !d.discovery.knows(segments[1]) {
		return nil, "", nil
	}
	version := segments[2]
	g := d.discovery.group(segments[1])
	if g == nil || !slices.Contains(g.versions, version) {
		return nil, "", nil
	}
	doc := &document{version: version, records: g.served[version]}
	doc.frame, err = d.static.V3(slices.ContainsFunc(doc.records,
		func(r *crds.Record) bool { return r.Version(version).Scale }))
	return doc, d.hash(g, version), err
}

// serveIndex serves the list of all documents with their hashes.
func (d *documents) serveIndex(w http.ResponseWriter, req *http.Request) {
	index, err := d.discovery.current.Load().index()
	if err != nil {
		fail(w, req, err)
		return
	}
	etag := strconv.Quote(hashOf(string(index)))
	w.Header().Set("Etag", etag)
	if unchanged(req, etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	// Writing fails only if the client has gone.
	_ = wire.WriteBody(w, req, http.StatusOK, wire.JSON, index)
}

func (d *documents) index(groups []*group) ([]byte, error) {
	index := handler3.OpenAPIV3Discovery{Paths: map[string]handler3.OpenAPIV3DiscoveryGroupVersion{}}
	add := func(path, hash string) {
		index.Paths[path] = handler3.OpenAPIV3DiscoveryGroupVersion{ServerRelativeURL: relativeURL(path, hash)}
	}
	for _, path := range d.static.PathsV3() {
		add(path, d.staticHash(path))
	}
	for _, g := range groups {
		for _, version := range g.versions {
			if g.builtin[version] == nil {
				add("apis/"+g.name+"/"+version, d.hash(g, version))
			}
		}
	}
	buffer := &bytes.Buffer{}
	err := json.NewEncoder(buffer).Encode(index)
	return bytes.TrimSpace(buffer.Bytes()), err
}

func relativeURL(path, hash string) string {
	u := url.URL{Path: pathV3 + "/" + path, RawQuery: url.Values{"hash": {hash}}.Encode()}
	return u.String()
}

// hash returns the hash of the document of a version of a group, without making the document.
// See docs/upstream.md, "handler3 computes hashes and JSON itself".
func (d *documents) hash(g *group, version string) string {
	return hashOf(append([]string{d.discovery.version}, g.hashed(version)...)...)
}

// staticHash returns the hash of a static document.
func (d *documents) staticHash(path string) string {
	return hashOf(d.discovery.version, path, d.static.Fingerprint())
}
