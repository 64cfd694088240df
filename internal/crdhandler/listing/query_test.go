package listing

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/crdhandler/selection"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// TestNewQuery checks the state, the limit and the first key that list options ask for.
func TestNewQuery(t *testing.T) {
	t.Parallel()
	token := continueToken{Revision: 7, Start: "b\x00"}.encode()
	latest := continueToken{Revision: latestRevision, Start: "b\x00"}.encode()
	consistent := dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}
	exact := dynamicstorage.ReadAt{Mode: dynamicstorage.Exact, Revision: 7}
	notOlder := dynamicstorage.ReadAt{Mode: dynamicstorage.NotOlderThan, Revision: 7}
	for name, tc := range map[string]struct {
		opts  metainternal.ListOptions
		at    dynamicstorage.ReadAt
		limit int64
		start string
		err   string
		// uncached means a server without watch cache.
		uncached bool
	}{
		"unset":        {at: consistent},
		"unset, limit": {opts: metainternal.ListOptions{Limit: 5}, at: consistent, limit: 5},
		"any, limit": {opts: metainternal.ListOptions{ResourceVersion: "0", Limit: 5},
			at: dynamicstorage.ReadAt{Mode: dynamicstorage.Any}},
		"any, limit, uncached": {opts: metainternal.ListOptions{ResourceVersion: "0", Limit: 5}, at: consistent, limit: 5,
			uncached: true},
		"not older": {opts: metainternal.ListOptions{ResourceVersion: "7"}, at: notOlder},
		"not older, limit": {opts: metainternal.ListOptions{ResourceVersion: "7", Limit: 2,
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}, at: notOlder, limit: 2},
		"legacy exact": {opts: metainternal.ListOptions{ResourceVersion: "7", Limit: 2}, at: exact, limit: 2},
		"exact": {opts: metainternal.ListOptions{ResourceVersion: "7",
			ResourceVersionMatch: metav1.ResourceVersionMatchExact}, at: exact},
		"continued": {opts: metainternal.ListOptions{Continue: token, Limit: 2}, at: exact, limit: 2,
			start: "ns/b\x00"},
		"continued, latest": {opts: metainternal.ListOptions{Continue: latest}, at: consistent, start: "ns/b\x00"},
		"continued with version": {opts: metainternal.ListOptions{Continue: token, ResourceVersion: "7"},
			err: "specifying resource version is not allowed when using continue"},
		"bad token": {opts: metainternal.ListOptions{Continue: "x"},
			err: "invalid continue token: continue key is not valid"},
		"bad version": {opts: metainternal.ListOptions{ResourceVersion: "x"},
			err: `invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid ` +
				`syntax`},
	} {
		t.Run(name, func(t *testing.T) {
			q, err := NewQuery(selection.New(selection.Request{Namespaced: true, Namespace: "ns", Options: &tc.opts},
				selection.Index{}), &tc.opts, !tc.uncached)
			if tc.err != "" {
				if !apierrors.IsBadRequest(err) || !strings.HasPrefix(err.Error(), tc.err) {
					t.Fatalf("error %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if q.at != tc.at || q.limit != tc.limit || q.start != tc.start {
				t.Errorf("at %v, limit %d, start %q", q.at, q.limit, q.start)
			}
		})
	}
}
