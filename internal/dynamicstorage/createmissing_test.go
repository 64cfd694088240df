package dynamicstorage

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
)

// creations returns the creations of n namespaced entries and of as many others, with a value of the store.
func creations(s *Store, n int, value string) (all []Creation) {
	for i := range n {
		for r, key := range map[*Resource]string{
			s.ResourceAt("namespaces"): fmt.Sprint("n", i), s.ResourceAt("configmaps"): fmt.Sprint("n/c", i),
		} {
			all = append(all, Creation{r, key, func() ([]byte, error) { return []byte(value), nil }})
		}
	}
	return all
}

// TestCreateMissing checks that several stores together create each entry once, that those that exist stay as they are,
// and that a store that finds all of them writes nothing.
func TestCreateMissing(t *testing.T) {
	t.Parallel()
	const n = 2*maxTransaction + 1
	first := testStore(t)
	old := put(t, first.ResourceAt("configmaps"), "n/c7", "old")
	watcher := watch(t, first.ResourceAt("namespaces"), old.Revision)
	var group errgroup.Group
	for i := range 3 {
		group.Go(func() error {
			s := first
			if i > 0 {
				s = testStore(t)
			}
			return s.CreateMissing(deadline(t), creations(s, n, fmt.Sprint("of ", i)))
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"namespaces", "configmaps"} {
		found := snapshot(t, first.ResourceAt(folder), ReadAt{Mode: Consistent})
		if count, err := found.Count(t.Context(), "", ""); err != nil || count != n {
			t.Errorf("%d entries in %s, %v", count, folder, err)
		}
	}
	e, _, err := first.ResourceAt("configmaps").Get(t.Context(), "n/c7", ReadAt{Mode: Consistent})
	if err != nil || string(e.Value) != "old" {
		t.Errorf("the entry that existed is %q, %v", e.Value, err)
	}
	events, transactions := 0, map[int64]int{}
	for events < n {
		batch, err := watcher.Next(deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch {
			transactions[e.Revision]++
		}
		events += len(batch)
	}
	if len(transactions) > 6 {
		t.Errorf("the entries were created in the transactions %v", transactions)
	}

	again := creations(first, n, "again")
	for i := range again {
		again[i].Value = func() ([]byte, error) { return nil, errors.New("the entry exists") }
	}
	if err := first.CreateMissing(t.Context(), again); err != nil {
		t.Fatal(err)
	}
}

// TestCreateMissingErrors checks that nothing is stored if one value cannot be encoded, or one key is invalid.
func TestCreateMissingErrors(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	r := s.ResourceAt("namespaces")
	failed := errors.New("failed")
	value := func() ([]byte, error) { return []byte("1"), nil }
	if err := s.CreateMissing(deadline(t), []Creation{
		{r, "a", value}, {r, "b", func() ([]byte, error) { return nil, failed }},
	}); !errors.Is(err, failed) {
		t.Errorf("error %v, want %v", err, failed)
	}
	err := s.CreateMissing(deadline(t), []Creation{{r, "a", value}, {r, "a/b/c", value}})
	if !errors.Is(err, ErrInvalidKey) {
		t.Errorf("error %v, want %v", err, ErrInvalidKey)
	}
	if n, err := snapshot(t, r, ReadAt{}).Count(t.Context(), "", ""); err != nil || n != 0 {
		t.Errorf("%d entries, %v", n, err)
	}
}

// TestCreateMissingTransforms checks that values are encrypted.
func TestCreateMissingTransforms(t *testing.T) {
	t.Parallel()
	s := run(t, Options{Client: shared.client, Prefix: shared.Prefix(t), Transform: &cipher{}})
	r := s.ResourceAt("secrets")
	value := func() ([]byte, error) { return []byte("abc"), nil }
	if err := s.CreateMissing(deadline(t), []Creation{{r, "n/s", value}}); err != nil {
		t.Fatal(err)
	}
	if e, _, err := r.Get(t.Context(), "n/s", ReadAt{}); err != nil || e.Err != nil || string(e.Value) != "abc" {
		t.Errorf("stored is %+v, %v", e, err)
	}
}
