package namespaces

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

const (
	activeNamespace      = `{"metadata":{"name":"x"},"status":{"phase":"Active"}}`
	terminatingNamespace = `{"metadata":{"name":"x","deletionTimestamp":"2026-01-01T00:00:00Z"},` +
		`"status":{"phase":"Terminating"}}`
)

// store writes a value, or deletes the key if the value is empty.
func store(t *testing.T, r *dynamicstorage.Resource, key, value string, conditions ...dynamicstorage.Condition) error {
	t.Helper()
	_, err := r.Update(t.Context(), key, func(context.Context, *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		if value == "" {
			return dynamicstorage.Change{Op: dynamicstorage.Delete}, nil
		}
		return dynamicstorage.Change{Op: dynamicstorage.Put, Value: []byte(value)}, nil
	}, dynamicstorage.UpdateOptions{If: conditions})
	return err
}

func mustStore(t *testing.T, r *dynamicstorage.Resource, key, value string) {
	t.Helper()
	if err := store(t, r, key, value); err != nil {
		t.Fatal(err)
	}
}

func attributes() admission.Attributes {
	return admission.NewAttributesRecord(nil, nil, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "x", "name",
		corev1.SchemeGroupVersion.WithResource("configmaps"), "", admission.Create, &metav1.CreateOptions{}, false, nil)
}

// TestCreateInPhases checks the answers to creations in a namespace during its life, and that the condition holds until
// the namespace changes.
func TestCreateInPhases(t *testing.T) {
	t.Parallel()
	s := newStore(t, etcd.Prefix(t))
	namespaces, objects := namespacesOf(s), s.Resource("core", "configmaps")
	l := NewLifecycle(namespaces)

	_, err := l.ForCreate(t.Context(), "x", false, attributes)
	if !apierrors.IsNotFound(err) || err.Error() != `namespaces "x" not found` {
		t.Errorf("missing namespace: %v", err)
	}
	mustStore(t, namespaces, "x", activeNamespace)
	condition, err := l.ForCreate(t.Context(), "x", false, attributes)
	if err != nil {
		t.Fatalf("active namespace: %v", err)
	}
	if err := store(t, objects, "x/1", "{\"metadata\":{}}", condition); err != nil {
		t.Errorf("a commit in an active namespace: %v", err)
	}
	mustStore(t, namespaces, "x", terminatingNamespace)
	if err := store(t, objects, "x/2", "{\"metadata\":{}}", condition); !errors.Is(err, dynamicstorage.ErrCondition) {
		t.Errorf("a commit after the deletion began: %v", err)
	}
	_, err = l.ForCreate(t.Context(), "x", true, attributes)
	if !apierrors.IsForbidden(err) || !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || err.Error() !=
		`configmaps "name" is forbidden: unable to create new content in namespace x because it is being terminated` {
		t.Errorf("terminating namespace: %v", err)
	}
	mustStore(t, namespaces, "x", "")
	if _, err := l.ForCreate(t.Context(), "x", true, attributes); !apierrors.IsNotFound(err) {
		t.Errorf("deleted namespace: %v", err)
	}
}

// TestDeletions checks which namespaces cannot be deleted.
func TestDeletions(t *testing.T) {
	t.Parallel()
	l := NewLifecycle(nil)
	for name, want := range map[string]string{
		"default":         `namespaces "default" is forbidden: this namespace may not be deleted`,
		"kube-system":     `namespaces "kube-system" is forbidden: this namespace may not be deleted`,
		"kube-public":     `namespaces "kube-public" is forbidden: this namespace may not be deleted`,
		"kube-node-lease": "<nil>",
		"x":               "<nil>",
	} {
		if got := fmt.Sprint(l.ForDelete(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if err := l.ForDelete("default"); !apierrors.IsForbidden(err) {
		t.Errorf("%v", err)
	}
}

// TestCreateDuringDeletion creates objects on two replicas while a third deletes the namespace. No object may be
// committed after the deletion.
func TestCreateDuringDeletion(t *testing.T) {
	t.Parallel()
	prefix := etcd.Prefix(t)
	deleting := namespacesOf(newStore(t, prefix))
	mustStore(t, deleting, "x", activeNamespace)
	var created atomic.Int64
	enough := make(chan struct{})
	var creators sync.WaitGroup
	for replica := range 2 {
		s := newStore(t, prefix)
		creators.Go(func() {
			for n := 0; createOnce(t, s, fmt.Sprintf("x/%d-%d", replica, n)); n++ {
				if created.Add(1) == 20 {
					close(enough)
				}
			}
		})
	}
	<-enough
	mustStore(t, deleting, "x", terminatingNamespace)
	entry, _, err := deleting.Get(t.Context(), "x", dynamicstorage.ReadAt{})
	if err != nil {
		t.Fatal(err)
	}
	creators.Wait()
	snapshot, err := newStore(t, prefix).Resource("core", "configmaps").Snapshot(t.Context(), dynamicstorage.ReadAt{})
	if err != nil {
		t.Fatal(err)
	}
	for object, err := range snapshot.Ascend(t.Context(), "x/", "") {
		if err != nil || object.Revision > entry.Revision {
			t.Errorf("%s was created at %d, the namespace was deleted at %d: %v", object.Key, object.Revision, entry.Revision,
				err)
		}
	}
}

// createOnce creates an object as the handler does. It reports false when the namespace is being deleted.
func createOnce(t *testing.T, s *dynamicstorage.Store, key string) bool {
	l := NewLifecycle(namespacesOf(s))
	for fresh := false; ; fresh = true {
		condition, err := l.ForCreate(t.Context(), "x", fresh, attributes)
		if err != nil {
			if !apierrors.IsForbidden(err) {
				t.Error(err)
			}
			return false
		}
		err = store(t, s.Resource("core", "configmaps"), key, `{"metadata":{}}`, condition)
		if !errors.Is(err, dynamicstorage.ErrCondition) {
			if err != nil {
				t.Error(err)
			}
			return err == nil
		}
	}
}

// BenchmarkForCreate measures the check of a creation in a cached namespace.
func BenchmarkForCreate(b *testing.B) {
	s, err := dynamicstorage.New(dynamicstorage.Options{Client: etcd.Client, Prefix: etcd.Prefix(b)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	defer running.Wait()
	defer cancel()
	namespaces := namespacesOf(s)
	if _, err := namespaces.Update(ctx, "x", func(context.Context, *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		return dynamicstorage.Change{Op: dynamicstorage.Put, Value: []byte(activeNamespace)}, nil
	}, dynamicstorage.UpdateOptions{}); err != nil {
		b.Fatal(err)
	}
	if _, err := namespaces.Snapshot(ctx, dynamicstorage.ReadAt{}); err != nil {
		b.Fatal(err)
	}
	l := NewLifecycle(namespaces)
	kind := schema.GroupVersionKind{Kind: "ConfigMap"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.ForCreate(ctx, "x", false, func() admission.Attributes {
			return admission.NewAttributesRecord(nil, nil, kind, "x", "", schema.GroupVersionResource{}, "", admission.Create,
				nil, false, nil)
		}); err != nil {
			b.Fatal(err)
		}
	}
}
