// Package listing reads lists: all selected objects of a resource, or a page of them, and writes them as JSON,
// compressed if the client accepts that.
//
// Begin at query.go, which defines the page to read; reader.go reads a Page and continue.go has the token of the next
// one. write.go writes a page, with the chunks that chunks.go keeps compressed.
package listing

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/crdhandler/selection"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Query says which page of which objects a list has.
type Query struct {
	selection selection.Selection
	at        dynamicstorage.ReadAt
	// start is the key to begin with, from the same as in the client's token; "" without a token.
	start, from string
	// limit is the largest number of objects in a page; 0 means no limit.
	limit int64
}

// NewQuery reads the resourceVersion, limit and continue token of a list (L2, L5). Its errors are API errors. cached
// says that resourceVersion 0 means all objects of the cache, whatever the limit is, as in kube-apiserver with its
// watch cache. Without one it means the newest state.
func NewQuery(sel selection.Selection, opts *metainternal.ListOptions, cached bool) (Query, error) {
	q := Query{selection: sel, limit: max(opts.Limit, 0)}
	atZero := opts.ResourceVersion == "0"
	if atZero && cached {
		q.limit = 0
	}
	if opts.Continue != "" {
		return q.continued(opts)
	}
	if opts.ResourceVersion == "" || atZero && !cached {
		q.at = dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}
		return q, nil
	}
	revision, err := selection.ParseResourceVersion(opts.ResourceVersion)
	if err != nil {
		return q, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
	}
	q.at = selection.NotOlderThan(revision)
	// Upstream reads a limit without resourceVersionMatch as Exact, except in a list of one name.
	legacyExact := opts.ResourceVersionMatch == "" && q.limit > 0 && revision > 0 && q.selection.Key == ""
	if legacyExact || opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		q.at = dynamicstorage.ReadAt{Mode: dynamicstorage.Exact, Revision: revision}
	}
	return q, nil
}

// continued returns the query with the start and revision of its continue token.
func (q Query) continued(opts *metainternal.ListOptions) (Query, error) {
	token, err := decodeContinue(opts.Continue)
	if err != nil {
		return q, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %v", err))
	}
	if opts.ResourceVersion != "" && opts.ResourceVersion != "0" {
		return q, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	q.from, q.start = token.Start, q.selection.Prefix+token.Start
	q.at = dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}
	if token.Revision > 0 {
		q.at = dynamicstorage.ReadAt{Mode: dynamicstorage.Exact, Revision: token.Revision}
	}
	return q, nil
}
