package dynamicstorage

import (
	"context"
	"testing"
)

func TestNoOps(t *testing.T) {
	t.Parallel()
	viewer := NewViewer(func(_ context.Context, entries []*Entry) ([]*View, error) {
		return make([]*View, len(entries)), nil
	})
	e := &Entry{Key: "a"}
	viewer.AddNoOp(e, NoOpDigest{1})
	if viewer.IsNoOp(e, NoOpDigest{1}) {
		t.Error("recorded without a view")
	}
	viewer.Attach(e, &View{})
	for n := range byte(maxNoOps + 1) {
		viewer.AddNoOp(e, NoOpDigest{n})
	}
	for n := range byte(maxNoOps + 2) {
		if known, want := viewer.IsNoOp(e, NoOpDigest{n}), n > 0 && n <= maxNoOps; known != want {
			t.Errorf("digest %d: got %v, want %v", n, known, want)
		}
	}
	if NewViewer(nil).IsNoOp(e, NoOpDigest{1}) {
		t.Error("another viewer has the record")
	}
	viewer.Close()
	e.dropViews()
	if viewer.IsNoOp(e, NoOpDigest{1}) {
		t.Error("the record outlives the view")
	}
}
