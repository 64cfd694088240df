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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// usage is the state of a quota that the controller follows.
//
// A count of the objects may be lower than the usage in the status, because a write reserves what its object uses
// before the object is stored. So a count only raises the usage, and what objects release lowers it. When the quota has
// not changed for a while, no write is under way, and the usage becomes the count. That takes back reservations of
// objects that were not stored.
type usage struct {
	// revision is the last one seen of the quota, since the time at which it was seen.
	revision int64
	since    time.Time
	tallies  []*tally
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
	tallies, err := r.tallies(ctx, quota)
	if err != nil {
		return err
	}
	settled := r.settled(entry)
	s := sum(quota, tallies, settled)
	if settled && !quotav1.Equals(s.used, quota.Status.Used) {
		for _, t := range tallies {
			if err := t.count(ctx, r.store); err != nil {
				return err
			}
		}
		s = sum(quota, tallies, settled)
	}
	if outdated(quota) || !quotav1.Equals(s.used, quota.Status.Used) {
		quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: s.used}
		_, err := r.client.ResourceQuotas(quota.Namespace).UpdateStatus(ctx, quota, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	for n, t := range tallies {
		t.shown(s.released[n])
	}
	if !settled {
		r.queue.AddAfter(key, r.settle)
	}
	return nil
}

// sums is the usage of a quota, with what of it each tally has released.
type sums struct {
	used     corev1.ResourceList
	released []corev1.ResourceList
}

// sum returns the usage of a quota. exact says that no write is under way, so the usage is what objects use.
func sum(quota *corev1.ResourceQuota, tallies []*tally, exact bool) sums {
	s := sums{used: corev1.ResourceList{}}
	counted, released := corev1.ResourceList{}, corev1.ResourceList{}
	for _, t := range tallies {
		used, free := t.state()
		counted, released = quotav1.Add(counted, used), quotav1.Add(released, free)
		s.released = append(s.released, free)
	}
	for name := range quota.Spec.Hard {
		old, has := quota.Status.Used[name]
		quantity, tracked := counted[name]
		switch {
		case !tracked && !has:
			continue // no such resource is served, and kube-apiserver need not have it
		case !tracked:
			quantity = old
		case has && !exact:
			known := old.DeepCopy()
			if known.Sub(released[name]); known.Cmp(quantity) > 0 {
				quantity = known
			}
		}
		s.used[name] = quantity
	}
	return s
}

// tallies returns those of a quota. It counts new ones. Without a usage, because the quota was deleted meanwhile, there
// are none.
func (r *run) tallies(ctx context.Context, quota *corev1.ResourceQuota) ([]*tally, error) {
	wanted := r.names.tracked(quota.Spec.Hard)
	known := r.known(quota)
	tallies := make([]*tally, 0, len(wanted))
	for _, want := range wanted {
		n := slices.IndexFunc(known, func(t *tally) bool { return t.fits(want, quota) })
		if n >= 0 {
			tallies = append(tallies, known[n])
			continue
		}
		t := newTally(want, quota)
		if want.folder != "" {
			if err := r.observe(ctx, want.folder); err != nil {
				return nil, err
			}
		}
		tallies = append(tallies, t)
	}
	r.know(quota, tallies) // before they count, so that they hear of later changes
	for _, t := range tallies {
		if used, _ := t.state(); used != nil {
			continue
		}
		if err := t.count(ctx, r.store); err != nil {
			return nil, err
		}
	}
	return tallies, nil
}

// known returns the present tallies of a quota.
func (r *run) known(quota *corev1.ResourceQuota) []*tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u := r.namespaces[quota.Namespace][quota.Name]; u != nil {
		return u.tallies
	}
	return nil
}

// know sets the tallies of a quota, unless it was deleted meanwhile.
func (r *run) know(quota *corev1.ResourceQuota, tallies []*tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u := r.namespaces[quota.Namespace][quota.Name]; u != nil {
		u.tallies = tallies
	}
}

// settled reports whether a quota has been the same for a while.
func (r *run) settled(entry *dynamicstorage.Entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	namespace, name, _ := strings.Cut(entry.Key, "/")
	u := r.namespaces[namespace][name]
	return u != nil && u.revision == entry.Revision && time.Since(u.since) >= r.settle
}
