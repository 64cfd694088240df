package quota

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// usage is the state of a quota that the controller follows.
//
// A count of the objects may be lower than the usage in the status, because a creation reserves its object before it is
// stored. So a count only raises the usage, and each deletion lowers it by one. When the quota has not changed for a
// while, no creation is under way, and the usage becomes the count. That takes back reservations of objects that were
// not created.
type usage struct {
	// revision is the last one seen of the quota, since the time at which it was seen.
	revision int64
	since    time.Time
	tallies  tallies
}

// tallies are those of the names in a quota.
type tallies map[corev1.ResourceName]*tally

// tally has the deletions that the usage of a name in a quota does not show yet.
type tally struct {
	folder  string
	deleted []int64 // their revisions
	// counted is the revision of the last count that became the usage. It shows deletions up to there.
	counted int64
}

// count notes the creation or deletion of an object in a folder. It reports whether the quota counts such objects.
func (t tallies) count(folder string, revision int64, deleted bool) bool {
	found := false
	for _, tally := range t {
		if tally.folder != folder {
			continue
		}
		found = true
		if deleted && revision > tally.counted {
			tally.deleted = append(tally.deleted, revision)
		}
	}
	return found
}

// outdated reports whether the status of a quota is not that of its spec.
func outdated(quota *corev1.ResourceQuota) bool {
	return quota.Status.Hard == nil || quota.Status.Used == nil ||
		!apiequality.Semantic.DeepEqual(quota.Spec.Hard, quota.Status.Hard)
}

// sync writes the status of a quota if it differs.
func (r *run) sync(ctx context.Context, key string) error {
	entry, _, err := r.quotas.entries.Get(ctx, key, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if errors.Is(err, dynamicstorage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading quota %s: %w", key, err)
	}
	quota, err := r.quotas.decode(entry)
	if err != nil {
		return err
	}
	counts, err := r.count(ctx, quota)
	if err != nil {
		return err
	}
	settled := r.settled(entry)
	used := corev1.ResourceList{}
	for name := range quota.Spec.Hard {
		old, has := quota.Status.Used[name]
		switch c := counts[name]; {
		case c != nil:
			used[name] = *apiresource.NewQuantity(c.usage(old.Value(), has && !settled), apiresource.DecimalSI)
		case has:
			used[name] = old
		case !strings.HasPrefix(string(name), countPrefix):
			used[name] = *apiresource.NewQuantity(0, apiresource.DecimalSI) // such as cpu: nothing uses it here
		}
	}
	if dirty := outdated(quota) || !quotav1.Equals(used, quota.Status.Used); dirty {
		quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: used}
		if err := r.client.updateStatus(ctx, quota); err != nil {
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		}
	}
	r.written(counts)
	if !settled {
		r.queue.AddAfter(key, r.settle)
	}
	return nil
}

// count is a count of the objects of a name in a quota.
type count struct {
	*tally
	objects, revision int64
	// deleted is the number of deletions that the tally had before the objects were counted.
	deleted int
	// exact says that the objects became the usage.
	exact bool
}

// usage returns the usage of a name. reserved says that some of the old usage may be of objects that are being created.
func (c *count) usage(old int64, reserved bool) int64 {
	known := old - int64(c.deleted)
	c.exact = !reserved || c.objects >= known
	if c.exact {
		return c.objects
	}
	return known
}

// count counts the objects of a quota. It watches them first.
func (r *run) count(ctx context.Context, quota *corev1.ResourceQuota) (map[corev1.ResourceName]*count, error) {
	counts := map[corev1.ResourceName]*count{}
	for name := range quota.Spec.Hard {
		folder, served := r.names.folder(name)
		if !served {
			continue
		}
		if err := r.observe(ctx, folder); err != nil {
			return nil, err
		}
		c := r.tally(quota, name, folder)
		if c == nil {
			continue
		}
		if !scoped(quota) {
			snapshot, err := r.store.ResourceAt(folder).Snapshot(ctx, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
			if err != nil {
				return nil, fmt.Errorf("counting %s: %w", name, err)
			}
			c.revision = snapshot.Revision
			if c.objects, err = snapshot.Count(ctx, quota.Namespace+"/", ""); err != nil {
				return nil, fmt.Errorf("counting %s: %w", name, err)
			}
		}
		counts[name] = c
	}
	return counts, nil
}

// scoped reports whether a quota has scopes. Only pods have them, so such a quota counts nothing.
func scoped(quota *corev1.ResourceQuota) bool {
	selector := quota.Spec.ScopeSelector
	return len(quota.Spec.Scopes) > 0 || selector != nil && len(selector.MatchExpressions) > 0
}

// tally returns a count with the tally of a name; nil if the quota was deleted meanwhile.
func (r *run) tally(quota *corev1.ResourceQuota, name corev1.ResourceName, folder string) *count {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.namespaces[quota.Namespace][quota.Name]
	if u == nil {
		return nil
	}
	t := u.tallies[name]
	if t == nil {
		t = &tally{folder: folder}
		u.tallies[name] = t
	}
	return &count{tally: t, deleted: len(t.deleted)}
}

// written drops the deletions that the usage shows now.
func (r *run) written(counts map[corev1.ResourceName]*count) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range counts {
		if !c.exact {
			c.tally.deleted = slices.Delete(c.tally.deleted, 0, c.deleted)
			continue
		}
		c.tally.counted = c.revision
		c.tally.deleted = slices.DeleteFunc(c.tally.deleted, func(revision int64) bool { return revision <= c.revision })
	}
}

// settled reports whether a quota has been the same for a while.
func (r *run) settled(entry *dynamicstorage.Entry) bool {
	namespace, name, _ := strings.Cut(entry.Key, "/")
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.namespaces[namespace][name]
	return u != nil && u.revision == entry.Revision && time.Since(u.since) >= r.settle
}
