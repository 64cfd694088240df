package listing

import (
	"hash/maphash"
	"net/http"

	"github.com/crd-server/crd-server/internal/wire"
)

// Write answers with the page item by item, in JSON or protobuf. list is the list without its items and metadata. A
// long list is compressed if the client accepts that, with chunks.
func (p *Page) Write(w http.ResponseWriter, req *http.Request, list wire.List, chunks *Chunks) error {
	list.ResourceVersion, list.Continue, list.RemainingItemCount = p.ResourceVersion(), p.Continue, p.Remaining
	if list.Protobuf {
		list.ItemsSize = wire.ProtobufItems(p.objects())
	}
	compressed := false
	if wire.AcceptsGzip(req) {
		var err error
		if compressed, err = list.Longer(wire.GzipThreshold, p.objects()); err != nil {
			return err
		}
	}
	if !compressed {
		wire.WriteHeader(w, http.StatusOK, list.MediaType())
		return list.Write(w, p.objects())
	}
	return wire.WriteGzip(w, http.StatusOK, list.MediaType(), func(body *wire.Gzip) error {
		if list.Pretty {
			return list.Write(body, p.objects())
		}
		return p.writeChunks(body, list, chunks)
	})
}

// writeChunks writes the page chunk by chunk.
func (p *Page) writeChunks(w *wire.Gzip, list wire.List, chunks *Chunks) error {
	if _, err := w.Write(list.AppendHead(nil)); err != nil {
		return err
	}
	for rest := p; len(rest.Entries) > 0; {
		if rest != p {
			if _, err := w.Write(list.Separator()); err != nil {
				return err
			}
		}
		text, n := rest.firstChunk(list, chunks)
		if err := w.WriteDeflated(text); err != nil {
			return err
		}
		rest = rest.Slice(n, len(rest.Entries))
	}
	_, err := w.Write(list.AppendTail(nil, len(p.Entries) > 0))
	return err
}

// firstChunk returns the text of the page's first chunk, and the number of objects in it. A chunk that the end of the
// page cuts short is not cached.
func (p *Page) firstChunk(list wire.List, chunks *Chunks) (wire.Deflated, int) {
	kept := chunks.find(p.Entries)
	if kept == nil {
		n := p.chunkLength()
		if n == len(p.Entries) && p.Continue != "" {
			return list.Deflate(p.objects()), n
		}
		kept = chunks.add(p.Entries[:n])
	}
	n := len(kept.entries)
	return chunks.compressed(p.Entries[0].Key, kept,
		func() wire.Deflated { return list.Deflate(p.Slice(0, n).objects()) }), n
}

// chunkSize is the average text of a chunk in bytes: enough to be compressed well alone, and little enough to be
// compressed again for every object that changes.
const chunkSize = 64 << 10

// chunkSeed is random, so that no choice of names makes chunks long or short.
var chunkSeed = maphash.MakeSeed()

// chunkLength returns the number of objects in the page's first chunk. The hash of an object's key decides whether a
// chunk ends after it, with the probability of its size by chunkSize: inserting or deleting an object moves no other
// boundary.
func (p *Page) chunkLength() int {
	const whole = 1 << 32
	for n, entry := range p.Entries {
		probability := min(uint64(len(p.Views[n].Bytes))*(whole/chunkSize), whole)
		if maphash.String(chunkSeed, entry.Key)%whole < probability {
			return n + 1
		}
	}
	return len(p.Entries)
}
