package watch

import (
	"testing"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

func TestStart(t *testing.T) {
	t.Parallel()
	anyState, consistent := dynamicstorage.ReadAt{Mode: dynamicstorage.Any},
		dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}
	nine := dynamicstorage.ReadAt{Mode: dynamicstorage.NotOlderThan, Revision: 9}
	for name, tc := range map[string]struct {
		opts metainternal.ListOptions
		want start
	}{
		"old path":        {metainternal.ListOptions{}, start{initial: true, at: anyState}},
		"from a revision": {metainternal.ListOptions{ResourceVersion: "9"}, start{at: nine, after: 9}},
		"watch-list": {metainternal.ListOptions{SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true},
			start{initial: true, endMark: true, at: consistent}},
		"watch-list, any": {metainternal.ListOptions{SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true,
			ResourceVersion: "0"}, start{initial: true, endMark: true, at: anyState}},
		"watch-list, not older": {metainternal.ListOptions{SendInitialEvents: ptr.To(true), ResourceVersion: "9"},
			start{initial: true, at: nine, after: 9}},
		"no initial events": {metainternal.ListOptions{SendInitialEvents: ptr.To(false), AllowWatchBookmarks: true},
			start{at: consistent}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newStart(&tc.opts)
			if err != nil || got != tc.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
	if _, err := newStart(&metainternal.ListOptions{ResourceVersion: "-1"}); err == nil {
		t.Error("a negative resourceVersion is accepted")
	}
}
