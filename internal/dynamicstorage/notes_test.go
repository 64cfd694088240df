package dynamicstorage

import (
	"context"
	"testing"
)

func TestNotes(t *testing.T) {
	viewer := NewViewer(func(_ context.Context, entries []*Entry) ([]*View, error) {
		return make([]*View, len(entries)), nil
	})
	e := &Entry{Key: "a"}
	viewer.Note(e, Note{1})
	if viewer.Noted(e, Note{1}) {
		t.Error("there is no view to note it beside")
	}
	viewer.Attach(e, &View{})
	for n := range byte(mostNotes + 1) {
		viewer.Note(e, Note{n})
	}
	for n := range byte(mostNotes + 2) {
		if noted, want := viewer.Noted(e, Note{n}), n > 0 && n <= mostNotes; noted != want {
			t.Errorf("note %d: got %v, want %v", n, noted, want)
		}
	}
	if NewViewer(nil).Noted(e, Note{1}) {
		t.Error("another viewer does not know it")
	}
	viewer.Close()
	e.dropViews()
	if viewer.Noted(e, Note{1}) {
		t.Error("notes go with the view")
	}
}
