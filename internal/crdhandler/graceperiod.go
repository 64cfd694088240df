package crdhandler

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
)

// graceState is what a DELETE does to the grace period of an object.
type graceState int

const (
	// noGrace says that the object has no grace period, or that it is over.
	noGrace graceState = iota
	// graceChanged says that the DELETE has begun or shortened the period.
	graceChanged
	// gracePending says that an earlier DELETE has begun a period that is not longer than the one asked for.
	gracePending
)

// applyGracePeriod begins or shortens the grace period of an object. It decides as upstream's BeforeDelete: see
// k8s.io/apiserver/pkg/registry/rest.
func (d *deletion) applyGracePeriod(obj runtime.Object, now time.Time) graceState {
	if d.scope.deletion.gracePeriod == nil {
		return noGrace
	}
	options := d.options
	if seconds := options.GracePeriodSeconds; seconds != nil && *seconds < 0 {
		options = options.DeepCopy()
		options.GracePeriodSeconds = new(int64(1))
	}
	m := objectmeta.Accessor(obj)
	if m.GetDeletionTimestamp() == nil {
		beginGracePeriod(m, d.scope.deletion.gracePeriod(obj, options), now)
		return graceChanged
	}
	period := m.GetDeletionGracePeriodSeconds()
	if period == nil || *period == 0 {
		return noGrace
	}
	if options.GracePeriodSeconds == nil || *options.GracePeriodSeconds >= *period {
		return gracePending
	}
	shorter := *options.GracePeriodSeconds
	began := m.GetDeletionTimestamp().Add(-time.Duration(*period) * time.Second)
	setGracePeriod(m, began, shorter)
	return graceChanged
}

// beginGracePeriod marks an object as being deleted after some seconds.
func beginGracePeriod(m metav1.Object, seconds int64, now time.Time) {
	setGracePeriod(m, now, seconds)
	if m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
}

func setGracePeriod(m metav1.Object, began time.Time, seconds int64) {
	m.SetDeletionTimestamp(new(metav1.NewTime(began.Add(time.Duration(seconds) * time.Second))))
	m.SetDeletionGracePeriodSeconds(&seconds)
}
