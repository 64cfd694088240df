package discovery

import (
	"cmp"
	"context"
	"net/http"
	"sync"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/discovery/openapi"
	"github.com/crd-server/crd-server/internal/wire"
)

// defaultCacheBytes is what the parts of some ten thousand CRDs take.
const defaultCacheBytes = 64 << 20

// documents serves OpenAPI. Their hashes come from those of the CRDs: no document is made to know whether it changed.
type documents struct {
	discovery *Discovery
	static    *openapi.Static
	parts     *parts
	// frames are compressed when they are first used.
	frames sync.Map // frameKey -> *frameBlocks
}

func newDocuments(d *Discovery, static *openapi.Static, options Options) *documents {
	cache := newPartCache(cmp.Or(options.CacheBytes, defaultCacheBytes))
	return &documents{discovery: d, static: static, parts: &parts{cache: cache, static: static}}
}

func (d *documents) forget(old *crds.Record) {
	if old != nil {
		d.parts.cache.forget(old.Name)
	}
}

// document is one to be sent.
type document struct {
	frame   *openapi.Frame
	records []*crds.Record
	// version is that of the custom resources; empty in OpenAPI version 2.
	version string
	media   media
	etag    string
}

// send answers with the document, or with 304 to a client that has it.
func (d *documents) send(w http.ResponseWriter, req *http.Request, doc *document) {
	header := w.Header()
	header.Set("Etag", doc.etag)
	if unchanged(req, doc.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	frame, err := d.blocks(doc)
	if err != nil {
		fail(w, req, err)
		return
	}
	header.Set("Content-Type", doc.media.contentType)
	sendBody(w, req, true, func(out body) error { return d.write(req.Context(), out, doc, frame) })
}

// write sends the frame with the parts in their places.
func (d *documents) write(ctx context.Context, out body, doc *document, frame *frameBlocks) error {
	key := partKey{version: doc.version, protobuf: doc.media.protobuf}
	if err := out.block(frame.begin); err != nil {
		return err
	}
	if key.protobuf {
		return d.parts.all(ctx, doc.records, key, func(p *part) error { return out.block(p.definitions) })
	}
	// The paths are written while parts are made; all of them are kept until their definitions are written.
	made := make([]*part, 0, len(doc.records))
	separator := frame.separator
	err := d.parts.all(ctx, doc.records, key, func(p *part) error {
		made = append(made, p)
		err := separated(out, separator, p.paths)
		separator = ","
		return err
	})
	if err == nil {
		err = out.block(frame.middle)
	}
	for _, p := range made {
		if err == nil {
			err = separated(out, ",", p.definitions)
		}
	}
	if err == nil {
		err = out.block(frame.end)
	}
	return err
}

// frameKey tells frames apart; they live as long as the server.
type frameKey struct {
	frame    *openapi.Frame
	protobuf bool
}

// frameBlocks is a frame, compressed. As protobuf it is all in begin.
type frameBlocks struct {
	begin, middle, end wire.Deflated
	// separator stands between begin and the first part.
	separator string
}

func (d *documents) blocks(doc *document) (*frameBlocks, error) {
	key := frameKey{frame: doc.frame, protobuf: doc.media.protobuf}
	if found, ok := d.frames.Load(key); ok {
		return found.(*frameBlocks), nil
	}
	begin, middle, end := doc.frame.Begin, doc.frame.Middle, doc.frame.End
	made := &frameBlocks{separator: ","}
	if begin[len(begin)-1] == '{' {
		made.separator = ""
	}
	if key.protobuf {
		middle, end = nil, nil
		var err error
		if begin, err = doc.media.encode(doc.frame.Bytes()); err != nil {
			return nil, err
		}
	}
	made.begin, made.middle, made.end = wire.DeflateWell(begin), wire.DeflateWell(middle), wire.DeflateWell(end)
	kept, _ := d.frames.LoadOrStore(key, made)
	return kept.(*frameBlocks), nil
}
