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
