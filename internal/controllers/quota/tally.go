package quota

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// tally knows what the objects of one resource use of a quota. It counts them once, and then follows their changes, so
// that a change costs the same however many objects there are.
type tally struct {
	tracked
	// quota has the scopes, and the limits in its status, where evaluators look for them.
	quota *corev1.ResourceQuota

	// mu guards the fields below. The tally counts while it holds mu, so changes wait.
	mu sync.Mutex
	// revision is that of the last count; 0 before the first. It includes changes up to there.
	revision int64
	// objects are the usages of objects that must be decoded for that, by key.
	objects map[string]corev1.ResourceList
	// used is what all objects use.
	used corev1.ResourceList
	// released is what objects use no more that the status of the quota still shows.
	released corev1.ResourceList
}

func newTally(t tracked, quota *corev1.ResourceQuota) *tally {
	limited := &corev1.ResourceQuota{ObjectMeta: quota.ObjectMeta, Spec: quota.Spec}
	limited.Status.Hard = quota.Spec.Hard
	return &tally{tracked: t, quota: limited, released: corev1.ResourceList{}}
}

// fits reports whether t is the tally of objects that a quota tracks.
func (t *tally) fits(want tracked, quota *corev1.ResourceQuota) bool {
	return t.folder == want.folder && t.evaluator.GroupResource() == want.evaluator.GroupResource() &&
		slices.Equal(t.names, want.names) &&
		apiequality.Semantic.DeepEqual(t.quota.Spec.Scopes, quota.Spec.Scopes) &&
		apiequality.Semantic.DeepEqual(t.quota.Spec.ScopeSelector, quota.Spec.ScopeSelector)
}

// count counts the objects that exist now.
func (t *tally) count(ctx context.Context, store *dynamicstorage.Store) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	used := corev1.ResourceList{}
	for _, name := range t.names {
		used[name] = apiresource.Quantity{Format: apiresource.DecimalSI}
	}
	if t.folder != "" {
		snapshot, err := store.ResourceAt(t.folder).Snapshot(ctx, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
		if err != nil {
			return fmt.Errorf("count %s: %w", t.folder, err)
		}
		objects, err := t.measureAll(ctx, snapshot)
		if err != nil {
			return fmt.Errorf("count %s: %w", t.folder, err)
		}
		for _, object := range objects {
			used = quotav1.Add(used, object)
		}
		if t.codec == nil {
			objects = nil
		}
		t.revision, t.objects = snapshot.Revision, objects
	}
	t.used, t.released = used, corev1.ResourceList{}
	return nil
}

// measureAll returns what the objects in a snapshot use, by key. Those that are only counted have one entry together.
func (t *tally) measureAll(
	ctx context.Context, snapshot *dynamicstorage.Snapshot,
) (map[string]corev1.ResourceList, error) {
	objects, prefix := map[string]corev1.ResourceList{}, t.quota.Namespace+"/"
	if t.codec == nil {
		n, err := snapshot.Count(ctx, prefix, "")
		objects[prefix] = t.each(n)
		return objects, err
	}
	for entry, err := range snapshot.Ascend(ctx, prefix, "") {
		if err != nil {
			return nil, err
		}
		if used := t.measure(entry); len(used) > 0 {
			objects[entry.Key] = used
		}
	}
	return objects, nil
}

// each returns what a number of objects use that are only counted. Such objects are in no scope.
func (t *tally) each(n int64) corev1.ResourceList {
	selector := t.quota.Spec.ScopeSelector
	if len(t.quota.Spec.Scopes) > 0 || selector != nil && len(selector.MatchExpressions) > 0 {
		return nil
	}
	used := corev1.ResourceList{}
	for _, name := range t.names {
		used[name] = *apiresource.NewQuantity(n, apiresource.DecimalSI)
	}
	return used
}

// measure returns what an object uses of the quota. One that cannot be read uses nothing: nobody can delete it either.
func (t *tally) measure(entry *dynamicstorage.Entry) corev1.ResourceList {
	obj, err := t.codec.Object(entry)
	if err != nil {
		return nil
	}
	if matches, err := t.evaluator.Matches(t.quota, obj); err != nil || !matches {
		return nil
	}
	used, err := t.evaluator.Usage(obj)
	if err != nil {
		return nil
	}
	return quotav1.Mask(used, t.names)
}

// change is how the change of an object changes usage.
type change int

const (
	unchanged change = iota
	// created says that there is a new object, whose usage was probably reserved.
	created
	// updated says that the usage of an object has changed or ended, so that the status may be wrong.
	updated
)

// observe follows the change of an object.
func (t *tally) observe(event *dynamicstorage.Event) change {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used == nil || event.Revision <= t.revision {
		return unchanged
	}
	key, before, after := t.usages(event)
	if quotav1.Equals(before, after) {
		return unchanged
	}
	if t.codec != nil {
		t.objects[key] = after
		if len(after) == 0 {
			delete(t.objects, key)
		}
	}
	t.used = quotav1.Add(quotav1.Subtract(t.used, before), after)
	t.released = quotav1.Add(t.released, quotav1.SubtractWithNonNegativeResult(before, after))
	if event.Prev == nil {
		return created
	}
	return updated
}

// usages returns the key of a changed object, and what it uses before and after the change.
func (t *tally) usages(event *dynamicstorage.Event) (key string, before, after corev1.ResourceList) {
	if event.Entry != nil {
		key = event.Entry.Key
	} else {
		key = event.Prev.Key
	}
	if t.codec != nil {
		if event.Entry != nil {
			after = t.measure(event.Entry)
		}
		return key, t.objects[key], after
	}
	if event.Prev != nil {
		before = t.each(1)
	}
	if event.Entry != nil {
		after = t.each(1)
	}
	return key, before, after
}

// state returns what objects use, and what of the status they use no more.
func (t *tally) state() (used, released corev1.ResourceList) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used, t.released
}

// shown tells the tally that the status shows what was released.
func (t *tally) shown(released corev1.ResourceList) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released = quotav1.RemoveZeros(quotav1.Subtract(t.released, released))
}
