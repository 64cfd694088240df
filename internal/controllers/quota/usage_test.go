package quota

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/crd-server/crd-server/internal/controllers/quota/evaluators"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// TestUsage checks which usage follows from a count of objects and from what happens to them, and what of it is left to
// the next one.
func TestUsage(t *testing.T) {
	t.Parallel()
	object := &dynamicstorage.Entry{Key: "x/a"}
	deleted := dynamicstorage.Event{Revision: 11, Prev: object}
	counted := dynamicstorage.Event{Revision: 10, Prev: object}
	created := dynamicstorage.Event{Revision: 12, Entry: object}
	updated := dynamicstorage.Event{Revision: 13, Entry: object, Prev: object}
	type events = []dynamicstorage.Event
	for title, tt := range map[string]struct {
		// old is the usage in the status, objects the number of objects at revision 10.
		old, objects int64
		settled      bool
		// events are observed before the usage is written, late those while it is written.
		events, late events
		want, left   int64
	}{
		"nothing changed":                  {old: 3, objects: 3, want: 3},
		"object is being created":          {old: 4, objects: 3, want: 4},
		"object was not created":           {old: 4, objects: 3, settled: true, want: 3},
		"deletion":                         {old: 4, objects: 4, events: events{deleted}, want: 3},
		"deletion while one is created":    {old: 5, objects: 4, events: events{deleted}, want: 4},
		"deletion that the count includes": {old: 4, objects: 3, settled: true, events: events{counted}, want: 3},
		"deletion and creation":            {old: 4, objects: 4, events: events{deleted, created}, want: 4},
		"late deletion":                    {old: 5, objects: 5, late: events{deleted}, want: 5, left: 1},
		"object without a reservation":     {old: 3, objects: 3, events: events{created}, want: 4},
		"update":                           {old: 3, objects: 3, events: events{updated}, want: 3},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			quota := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: configMaps(9)}}
			quota.Status = corev1.ResourceQuotaStatus{Hard: configMaps(9), Used: configMaps(tt.old)}
			followed := newTally(tracked{
				evaluator: evaluators.For(corev1.Resource("configmaps")), folder: "configmaps",
				names: []corev1.ResourceName{corev1.ResourceConfigMaps},
			}, quota)
			followed.used, followed.revision = configMaps(tt.objects), 10
			for _, event := range tt.events {
				followed.observe(&event)
			}
			s := sum(quota, []*tally{followed}, tt.settled)
			for _, event := range tt.late {
				followed.observe(&event)
			}
			followed.shown(s.released[0])
			got, left := s.used[corev1.ResourceConfigMaps], followed.released[corev1.ResourceConfigMaps]
			if got.Value() != tt.want || left.Value() != tt.left {
				t.Errorf("usage %s with %s left, want %d with %d", got.String(), left.String(), tt.want, tt.left)
			}
		})
	}
}
