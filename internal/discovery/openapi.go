package discovery

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/http"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/discovery/openapi"
)

// documents serves OpenAPI. The ETag of a document is a hash of the hashes of its CRDs, so the server knows it without
// making the document.
type documents struct {
	discovery *Discovery
	static    *openapi.Static
	sections  *sections
}

func newDocuments(d *Discovery, options Options) *documents {
	static := openapi.NewStatic(options.Version, options.documented())
	return &documents{discovery: d, static: static,
		sections: newSections(static, cmp.Or(options.MaxSections, maxSections))}
}

// document is a document to be sent.
type document struct {
	frame   *openapi.Document
	records []*crds.Record
	// version is that of the custom resources; empty in OpenAPI version 2.
	version string
	media   media
	etag    string
}

// send writes the document, or 304 to a client that has it.
func (d *documents) send(w http.ResponseWriter, req *http.Request, doc *document) {
	header := w.Header()
	header.Set("Etag", doc.etag)
	if unchanged(req, doc.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	sections, err := d.sections.all(req.Context(), doc.records, doc.version, doc.media.protobuf)
	if err != nil {
		fail(w, req, err)
		return
	}
	write := func(out body) error { return doc.write(out, sections) }
	if doc.media.protobuf {
		encoded, err := doc.frame.Protobuf()
		if err != nil {
			fail(w, req, err)
			return
		}
		write = func(out body) error { return writeProtobuf(out, encoded, sections) }
	}
	header.Set("Content-Type", doc.media.contentType)
	sendBody(w, req, write)
}

// write writes the paths and the definitions of sections in their places.
func (doc *document) write(out body, sections []*section) error {
	begin := doc.frame.Begin
	if err := out.text(begin); err != nil {
		return err
	}
	first := begin[len(begin)-1] == '{'
	for _, s := range sections {
		if !first {
			if err := out.text([]byte{','}); err != nil {
				return err
			}
		}
		first = false
		if err := out.block(s.paths); err != nil {
			return err
		}
	}
	if err := out.text(doc.frame.Middle); err != nil {
		return err
	}
	for _, s := range sections {
		if err := out.text([]byte{','}); err != nil {
			return err
		}
		if err := out.block(s.definitions); err != nil {
			return err
		}
	}
	return out.text(doc.frame.End)
}

// writeProtobuf writes encoded documents one after the other, which protobuf merges.
func writeProtobuf(out body, encoded []byte, sections []*section) error {
	if err := out.text(encoded); err != nil {
		return err
	}
	for _, s := range sections {
		if err := out.block(s.definitions); err != nil {
			return err
		}
	}
	return nil
}

// hashOf hashes strings, each with its length, so that their boundaries count.
func hashOf(parts ...string) string {
	hash := sha256.New()
	for _, s := range parts {
		fmt.Fprintf(hash, "%d:%s", len(s), s)
	}
	return fmt.Sprintf("%X", hash.Sum(nil))
}

// hashed returns what identifies a version of a group and the CRDs that are served in it.
func (g *group) hashed(version string) []string {
	parts := []string{g.name, version}
	for _, record := range g.served[version] {
		parts = append(parts, record.Name, record.SpecHash)
	}
	return parts
}
