package dynamicstorage

import "testing"

// TestHasBelow checks that a resource finds out in memory and in etcd whether it has keys with a prefix, and that it is
// not loaded for that.
func TestHasBelow(t *testing.T) {
	t.Parallel()
	r := testStore(t).Resource("g", "p")
	put(t, r, "b/1", "1")
	put(t, r, "d/1", "1")
	check := func(state string) {
		t.Helper()
		for prefix, want := range map[string]bool{"a/": false, "b/": true, "c/": false, "d/": true, "d/1": true, "e/": false,
			"": true} {
			if got, err := r.HasBelow(deadline(t), prefix); err != nil || got != want {
				t.Errorf("%s: %q: %v, %v", state, prefix, got, err)
			}
		}
	}
	check("cold")
	if r.inMemory() {
		t.Error("HasBelow has loaded the resource")
	}
	snapshot(t, r, ReadAt{})
	check("warm")
	if _, err := r.Update(deadline(t), "d/1", deleting, UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if has, err := r.HasBelow(deadline(t), "d/"); err != nil || has {
		t.Errorf("after the deletion: %v, %v", has, err)
	}
}

// TestCountStored checks that entries are counted in etcd, and that the resource is not loaded for that.
func TestCountStored(t *testing.T) {
	t.Parallel()
	store := testStore(t)
	r := store.Resource("g", "p")
	check := func(want int64) {
		t.Helper()
		if got, err := r.Count(deadline(t)); err != nil || got != want {
			t.Errorf("got %d, %v, want %d", got, err, want)
		}
	}
	check(0)
	put(t, r, "a", "1")
	put(t, r, "b/1", "1")
	put(t, store.Resource("g", "pp"), "a", "1")
	check(2)
	remove(t, r, "a")
	check(1)
	if r.inMemory() {
		t.Error("Count has loaded the resource")
	}
}
