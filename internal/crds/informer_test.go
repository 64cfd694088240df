package crds

import (
	"context"
	"errors"
	"testing"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// widget returns the stored form of the CRD widgets with another name.
func widget(t *testing.T, plural string) []byte {
	t.Helper()
	crd := internalOf(t, widgets)
	crd.Name, crd.Spec.Names.Plural = plural+".example.com", plural
	return encoded(t, crd)
}

func write(t *testing.T, resource *dynamicstorage.Resource, name string, op dynamicstorage.Op, value []byte) int64 {
	t.Helper()
	entry, err := resource.Update(t.Context(), name,
		func(context.Context, *dynamicstorage.Entry) (dynamicstorage.Change, error) {
			return dynamicstorage.Change{Op: op, Value: value}, nil
		}, dynamicstorage.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return entry.Revision
}

func TestTableFollowsStore(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	resource := store.Resource(GroupName, Plural)
	for n, value := range encodings(t, internalOf(t, widgets)) {
		_ = n
		if _, err := etcd.Client.Put(t.Context(), keyOf(t, "widgets.example.com"), string(value)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := etcd.Client.Put(t.Context(), keyOf(t, "broken.example.com"), "not a CRD"); err != nil {
		t.Fatal(err)
	}
	table := newSyncedTable(t, store)
	if _, ok := table.Get("widgets.example.com"); !ok || len(names(table.Group("example.com"))) != 1 {
		t.Fatalf("shown: %v", names(table.Group("example.com")))
	}

	waitFor := func(name string, revision int64) {
		t.Helper()
		if err := table.WaitFor(t.Context(), name, revision); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 {
		revision := write(t, resource, "gadgets.example.com", dynamicstorage.Put, widget(t, "gadgets"))
		waitFor("gadgets.example.com", revision)
		if record, ok := table.Get("gadgets.example.com"); !ok || record.Revision != revision {
			t.Fatalf("round %d: %+v is shown instead of revision %d", n, record, revision)
		}
		waitFor("gadgets.example.com", write(t, resource, "gadgets.example.com", dynamicstorage.Delete, nil))
		if _, ok := table.Get("gadgets.example.com"); ok {
			t.Fatalf("round %d: still shown", n)
		}
	}
	waitFor("broken.example.com", write(t, resource, "broken.example.com", dynamicstorage.Put, []byte("still not")))
	waitFor("broken.example.com", write(t, resource, "broken.example.com", dynamicstorage.Put, widget(t, "broken")))
	if _, ok := table.Get("broken.example.com"); !ok {
		t.Error("a CRD that has been repaired is not shown")
	}
}

func TestWaitForEndsWithItsContext(t *testing.T) {
	t.Parallel()
	table := newSyncedTable(t, newStore(t))
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := table.WaitFor(ctx, "a.b", 1<<60); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

// TestEmptyStoreMakesProgress checks that the table knows the revision of an empty list.
func TestEmptyStoreMakesProgress(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	revision, err := store.CurrentRevision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table := newSyncedTable(t, store)
	if err := table.WaitFor(t.Context(), "a.b", revision); err != nil {
		t.Error(err)
	}
}

// TestLostEvents checks that the table lists again when events were lost: it drops what was deleted meanwhile.
func TestLostEvents(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	resource := store.Resource(GroupName, Plural)
	write(t, resource, "gadgets.example.com", dynamicstorage.Put, widget(t, "gadgets"))
	table := newSyncedTable(t, store)
	resource.Release()
	write(t, resource, "gadgets.example.com", dynamicstorage.Delete, nil)
	revision := write(t, resource, "widgets.example.com", dynamicstorage.Put, widget(t, "widgets"))
	if err := table.WaitFor(t.Context(), "widgets.example.com", revision); err != nil {
		t.Fatal(err)
	}
	if shown := names(table.Group("example.com")); len(shown) != 1 || shown[0] != "widgets.example.com" {
		t.Errorf("shown: %v", shown)
	}
}
