package dynamicstorage

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// TestConditions checks that an object can be written only while its owner exists, and the owner can be deleted only
// while there are no objects.
func TestConditions(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	owners, objects := s.Resource("owners", "p"), s.Resource("objects", "p")
	ctx := deadline(t)
	write := func(r *Resource, mutate Mutate, conditions ...Condition) error {
		_, err := r.Update(ctx, "x", mutate, UpdateOptions{If: conditions})
		return err
	}
	owner := put(t, owners, "x", "1")
	still := owners.Still("x", owner.CreateRevision())
	put(t, owners, "x", "changed")
	for _, step := range []struct {
		name string
		err  error
		want error
	}{
		{"an object while its owner is there", write(objects, putting("1"), still), nil},
		{"the owner while there are objects", write(owners, deleting, objects.Empty()), ErrCondition},
		{"the object", write(objects, deleting, still), nil},
		{"the owner without objects", write(owners, deleting, objects.Empty()), nil},
		{"an object without its owner", write(objects, putting("1"), still), ErrCondition},
		{"an owner of the same name", write(owners, putting("2")), nil},
		{"an object of the former owner", write(objects, putting("1"), still), ErrCondition},
	} {
		if !errors.Is(step.err, step.want) {
			t.Errorf("%s: %v, want %v", step.name, step.err, step.want)
		}
	}
	if n, err := snapshot(t, objects, ReadAt{}).Count(ctx, "", ""); err != nil || n != 0 {
		t.Errorf("the refused writes have left %d objects, %v", n, err)
	}
}

// TestConditionsOfChanges checks that the conditions of one change hold for it: when it stores, and when it deletes.
func TestConditionsOfChanges(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	owners, objects := s.Resource("owners", "p"), s.Resource("objects", "p")
	owner := put(t, owners, "x", "1")
	still := owners.Still("x", owner.CreateRevision())
	write := func(change Change) error {
		change.If = []Condition{still}
		mutate := func(context.Context, *Entry) (Change, error) { return change, nil }
		_, err := objects.Update(deadline(t), "x", mutate, UpdateOptions{})
		return err
	}
	stores, deletes := Change{Op: Put, Value: []byte("1")}, Change{Op: Delete}
	for n, change := range []Change{stores, deletes, stores} {
		if err := write(change); err != nil {
			t.Errorf("change %d while the owner is there: %v", n, err)
		}
	}
	remove(t, owners, "x")
	for n, change := range []Change{stores, deletes} {
		if err := write(change); !errors.Is(err, ErrCondition) {
			t.Errorf("change %d without the owner: %v, want %v", n, err, ErrCondition)
		}
	}
}

// TestUnchanged checks that an object can be written only while its namespace is as it was read.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	namespaces, objects := s.ResourceAt("namespaces"), s.ResourceAt("configmaps")
	write := func(condition Condition) error {
		_, err := objects.Update(deadline(t), "n/x", putting("1"), UpdateOptions{If: []Condition{condition}})
		return err
	}
	absent := namespaces.Unchanged("n", 0)
	type step struct {
		name      string
		condition Condition
		want      error
	}
	steps := []step{{"while there is no namespace", absent, nil}}
	check := func() {
		t.Helper()
		for _, step := range steps {
			if err := write(step.condition); !errors.Is(err, step.want) {
				t.Errorf("%s: %v, want %v", step.name, err, step.want)
			}
		}
		for n := range steps {
			steps[n].want = ErrCondition
		}
	}
	check()
	for _, name := range []string{"created", "changed", "changed again"} {
		e := put(t, namespaces, "n", name)
		steps = append(steps, step{name, namespaces.Unchanged("n", e.Revision), nil})
		check()
	}
	remove(t, namespaces, "n")
	steps[0].want = nil
	check()
}

// TestContention checks that the attempts grow in proportion to the number of updates of one key.
func TestContention(t *testing.T) {
	t.Parallel()
	const writers, each = 32, 8
	r := testStore(t).Resource("g", "p")
	put(t, r, "x", "0")
	snapshot(t, r, ReadAt{})
	ctx := deadline(t)
	var attempts atomic.Int64
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			for range each {
				_, err := r.Update(ctx, "x", func(_ context.Context, cur *Entry) (Change, error) {
					attempts.Add(1)
					n, err := strconv.Atoi(string(cur.Value))
					return Change{Op: Put, Value: []byte(strconv.Itoa(n + 1))}, err
				}, UpdateOptions{})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	got, _, err := r.Get(ctx, "x", ReadAt{})
	if err != nil || string(got.Value) != strconv.Itoa(writers*each) {
		t.Errorf("%+v, %v after %d writes", got, err, writers*each)
	}
	if n := attempts.Load(); n > 3*writers*each {
		t.Errorf("%d attempts for %d writes", n, writers*each)
	}
	if r.updates.contended("x") {
		t.Error("the key still has a queue")
	}
}
