package listing

import (
	"hash/maphash"
	"iter"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
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

// Page is the result of a list: all selected objects, or as many of them as the client asked for.
type Page struct {
	// Entries are the objects, Views what the list shows of each.
	Entries  []*dynamicstorage.Entry
	Views    []*dynamicstorage.View
	Revision int64
	// Continue is the token of the next page, "" if there is none.
	Continue string
	// Remaining is the number of objects after this page, nil if that is not known.
	Remaining *int64
}

// ResourceVersion is the page's revision as clients see it.
func (p *Page) ResourceVersion() string { return strconv.FormatInt(p.Revision, 10) }

// Size returns the number of bytes of the page's objects.
func (p *Page) Size() int {
	size := 0
	for _, view := range p.Views {
		size += len(view.Bytes)
	}
	return size
}

// SetListMeta sets the metadata of a list of the page's objects.
func (p *Page) SetListMeta(m metav1.ListInterface) {
	m.SetResourceVersion(p.ResourceVersion())
	m.SetContinue(p.Continue)
	m.SetRemainingItemCount(p.Remaining)
}

// Slice returns the page with n of its objects at most, from the one at start on.
func (p *Page) Slice(start, n int) *Page {
	slice, end := *p, min(start+n, len(p.Entries))
	slice.Entries, slice.Views = p.Entries[start:end], p.Views[start:end]
	return &slice
}

// objects returns the page's objects as they are served.
func (p *Page) objects() iter.Seq[wire.Object] {
	return func(yield func(wire.Object) bool) {
		for n, entry := range p.Entries {
			if !yield(stored.Object(p.Views[n], entry.Revision)) {
				return
			}
		}
	}
}
