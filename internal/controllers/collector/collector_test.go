package collector

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// dependents creates n dependents of an owner, 50 at a time.
func (s *server) dependents(n int, owner metav1.OwnerReference) {
	s.Helper()
	meta := metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{owner}}
	var group wait.Group
	slots := make(chan struct{}, 50)
	for i := range n {
		slots <- struct{}{}
		group.Start(func() {
			s.create(fmt.Sprintf("n/dependent-%d", i), meta)
			<-slots
		})
	}
	group.Wait()
}

func widget(name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Widget", Name: name, UID: uid}
}

// until waits until a condition holds for the widgets.
func (s *server) until(holds func(widgets *dynamicstorage.Snapshot) bool) {
	s.Helper()
	resource := s.store.Resource("example.com", "widgets")
	snapshot, err := resource.Snapshot(s.Context(), dynamicstorage.ReadAt{})
	if err != nil {
		s.Fatal(err)
	}
	w, err := resource.Watch(s.Context(), snapshot.Revision)
	if err != nil {
		s.Fatal(err)
	}
	defer w.Close()
	for !holds(snapshot) {
		if _, err := w.Next(s.Context()); err != nil {
			s.Fatal(err)
		}
		if snapshot, err = resource.Snapshot(s.Context(), dynamicstorage.ReadAt{Mode: dynamicstorage.Any}); err != nil {
			s.Fatal(err)
		}
	}
}

// left returns the condition that so many widgets are left.
func (s *server) left(n int64) func(*dynamicstorage.Snapshot) bool {
	return func(widgets *dynamicstorage.Snapshot) bool {
		all, err := widgets.Count(s.Context(), "", "")
		if err != nil {
			s.Fatal(err)
		}
		return all == n
	}
}

// owned returns the condition that at most so many widgets have owners.
func (s *server) owned(n int) func(*dynamicstorage.Snapshot) bool {
	return func(widgets *dynamicstorage.Snapshot) bool {
		owned := 0
		for entry, err := range widgets.Ascend(s.Context(), "", "") {
			if err != nil {
				s.Fatal(err)
			}
			m, err := crds.ReadMetadata(entry.Value)
			if err != nil {
				s.Fatal(err)
			}
			if len(m.OwnerReferences) > 0 {
				owned++
			}
		}
		return owned <= n
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	c := s.collector()
	etcdtest.Run(t, func(ctx context.Context) error { c.Run(ctx); return nil })
	for _, policy := range []metav1.DeletionPropagation{background, foreground, orphan} {
		owner := widget("owner", s.create("n/owner", metav1.ObjectMeta{}))
		blocks := true
		owner.BlockOwnerDeletion = &blocks
		s.dependents(100, owner)
		s.delete("n/owner", policy)
		if policy == orphan {
			s.until(s.owned(0))
			s.until(s.left(100))
			for n := range 100 {
				if got := s.get(fmt.Sprintf("n/dependent-%d", n)); got == nil || len(got.OwnerReferences) > 0 {
					t.Errorf("dependent %d: %+v", n, got)
				}
			}
		} else {
			s.until(s.left(0))
		}
	}
}

// TestRestart checks that a collector finishes the work of one that was stopped, also in the midst of it.
func TestRestart(t *testing.T) {
	t.Parallel()
	for _, policy := range []metav1.DeletionPropagation{background, foreground, orphan} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			s := startServer(t)
			owner := widget("owner", s.create("n/owner", metav1.ObjectMeta{}))
			blocks := true
			owner.BlockOwnerDeletion = &blocks
			s.dependents(100, owner)
			s.create("n/other", metav1.ObjectMeta{})
			s.delete("n/owner", policy)
			for _, n := range []int{80, 40, 0} {
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				c := s.collector()
				go func() { c.Run(ctx); close(done) }()
				s.until(s.owned(n))
				if n == 0 && policy == orphan {
					s.until(s.left(101))
				} else if n == 0 {
					s.until(s.left(1))
				}
				cancel()
				<-done
			}
			if s.get("n/other") == nil {
				t.Error("an object without an owner was deleted")
			}
		})
	}
}

// TestKindIsServedLater checks that dependents of owners of an unknown kind are left alone until it is served.
func TestKindIsServedLater(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	r := s.step()
	s.create("n/b", metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "example.com/v1", Kind: "Gadget", Name: "a", UID: "1"}}})
	r.settle()
	if s.get("n/b") == nil {
		t.Fatal("the dependent of an unknown kind was deleted")
	}
	if len(r.index.unserved) != 1 {
		t.Errorf("%d references wait", len(r.index.unserved))
	}
	s.define("gadgets", "Gadget", "Namespaced")
	r.retryUnserved()
	r.settle()
	if s.get("n/b") != nil || len(r.index.unserved) != 0 {
		t.Error("the dependent is left")
	}
}

// TestDefinitionIsDeleted checks that the dependents of the objects of a CRD go with it.
func TestDefinitionIsDeleted(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	r := s.step()
	a := s.create("a", metav1.ObjectMeta{})
	s.create("n/b", metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "example.com/v1", Kind: "Realm", Name: "a", UID: a}}})
	r.settle()
	s.must(http.MethodDelete, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/realms.example.com", "", "")
	<-s.undefined
	r.settle()
	if s.get("n/b") != nil {
		t.Error("the dependent is left")
	}
}

// TestVerifiedOnce checks that an owner is read once, whatever the number of its dependents, and that an update of a
// dependent that keeps its owners costs nothing.
func TestVerifiedOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	owner := widget("a", s.create("n/a", metav1.ObjectMeta{})) // the scan finds it before the dependents
	s.dependents(20, owner)
	r := s.step()
	r.fence()
	if r.references.Len() != 1 || r.objects.Len() != 0 {
		t.Errorf("%d references and %d objects are due", r.references.Len(), r.objects.Len())
	}
	r.settle()
	for n := range 20 {
		s.merge(fmt.Sprintf("n/dependent-%d", n), `{"metadata":{"labels":{"a":"b"}}}`)
	}
	r.fence()
	if r.references.Len() != 0 || r.objects.Len() != 0 {
		t.Errorf("%d references and %d objects are due", r.references.Len(), r.objects.Len())
	}
}

// TestChangedDependent checks that a dependent that was given another owner after the decision is not touched, and
// that one with another change is.
func TestChangedDependent(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	r := s.step()
	a, b := s.create("n/a", metav1.ObjectMeta{}), s.create("n/b", metav1.ObjectMeta{})
	owned := metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{widget("a", a)}}
	s.create("n/saved", owned)
	s.create("n/changed", owned)
	s.create("n/replaced", owned)
	r.settle()
	s.delete("n/a", background)
	r.fence()
	var decisions []decision
	for _, id := range []string{"saved", "changed", "replaced"} {
		decisions = append(decisions, r.decide("example.com/widgets/n/"+id))
	}
	s.merge("n/saved", fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Widget",`+
		`"name":"b","uid":%q}]}}`, b))
	s.merge("n/changed", `{"metadata":{"labels":{"a":"b"}}}`)
	s.delete("n/replaced", background)
	s.create("n/replaced", owned)
	for _, d := range decisions {
		if err := r.collect(t.Context(), &d); err != nil {
			t.Errorf("%s: %v", d.key, err)
		}
	}
	for id, want := range map[string]bool{"saved": true, "changed": false, "replaced": true} {
		if got := s.get("n/" + id); (got != nil) != want {
			t.Errorf("%s: %+v", id, got)
		}
	}
	r.settle()
	if s.get("n/saved") == nil || s.get("n/replaced") != nil {
		t.Error("wrong end")
	}
}

// TestMemory checks that the index keeps nothing of objects without owners, and little of others.
func TestMemory(t *testing.T) {
	const objects, limit = 20000, 400
	x := newIndex(&Kinds{table: &crds.Table{}}, func(*object) {}, func(*reference) {})
	before := heap()
	for n := range objects {
		x.put(fmt.Sprintf("group.example.com/widgets/some-namespace/some-name-%d", n), int64(n), &crds.Metadata{
			UID: types.UID(fmt.Sprintf("01234567-89ab-cdef-0123-%012d", n)),
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "group.example.com/v1", Kind: "Widget", Name: "x", UID: "01234567-89ab-cdef-0123-0123456789ab"}},
		})
	}
	if each := (heap() - before) / objects; each > limit {
		t.Errorf("%d bytes for each object", each)
	} else {
		t.Logf("%d bytes for each object", each)
	}
	for n := range objects {
		x.remove(fmt.Sprintf("group.example.com/widgets/some-namespace/some-name-%d", n))
	}
	if len(x.objects)+len(x.references)+len(x.owners)+len(x.named)+len(x.unserved) != 0 {
		t.Errorf("something is left: %+v", x)
	}
}

func heap() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}
