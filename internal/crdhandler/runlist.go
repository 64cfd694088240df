package crdhandler

import (
	"hash/maphash"
	"iter"

	"github.com/crd-server/crd-server/internal/wire"
)

// writeRuns writes a compact list with the runs of its page.
func (s *requestScope) writeRuns(w *wire.Gzip, list wire.List, p *page) error {
	if _, err := w.Write(list.AppendHead(nil)); err != nil {
		return err
	}
	for start := 0; start < len(p.entries); {
		if start > 0 {
			if _, err := w.Write(comma); err != nil {
				return err
			}
		}
		text, n := s.storage.runs.next(list, p, start)
		if err := w.WriteDeflated(text); err != nil {
			return err
		}
		start += n
	}
	_, err := w.Write(list.AppendTail(nil, len(p.entries) > 0))
	return err
}

var comma = []byte{','}

// next returns the text of the run that begins at an object of a page, and the number of its objects. A run that the end of
// the page cuts short is not kept.
func (r *runs) next(list wire.List, p *page, start int) (wire.Deflated, int) {
	rest := p.entries[start:]
	kept := r.find(rest)
	if kept == nil {
		n := runLength(p, start)
		if n == len(rest) && p.next != "" {
			return list.Deflate(p.objects(start, n)), n
		}
		kept = r.keep(rest[:n])
	}
	n := len(kept.entries)
	text := r.deflated(rest[0].Key, kept, func() wire.Deflated { return list.Deflate(p.objects(start, n)) })
	return text, n
}

// runSize is about how many bytes of text a run has: enough to be compressed well by itself, and few enough to be
// compressed anew for each object that changes.
const runSize = 64 << 10

// runSeed makes boundaries nobody can foresee: no choice of names makes runs long or short.
var runSeed = maphash.MakeSeed()

// runLength returns the number of objects of the run that begins at start. An object ends its run with a probability
// of its size by runSize, and decides so by its key: an object inserted or deleted moves no other boundary.
func runLength(p *page, start int) int {
	const whole = 1 << 32
	for n := start; n < len(p.entries); n++ {
		share := min(uint64(len(p.views[n].JSON))*(whole/runSize), whole)
		if maphash.String(runSeed, p.entries[n].Key)%whole < share {
			return n + 1 - start
		}
	}
	return len(p.entries) - start
}

// objects returns n objects of the page as they are served.
func (p *page) objects(start, n int) iter.Seq[wire.Object] {
	return func(yield func(wire.Object) bool) {
		for i := start; i < start+n; i++ {
			if !yield(wireObject(p.views[i], p.entries[i].Revision)) {
				return
			}
		}
	}
}
