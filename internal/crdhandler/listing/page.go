package listing

import (
	"iter"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/wire"
)

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
