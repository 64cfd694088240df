package quota

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestUsage checks which usage follows from a count of objects, and which deletions it leaves to the next one.
func TestUsage(t *testing.T) {
	t.Parallel()
	const name, folder = corev1.ResourceConfigMaps, "configmaps"
	for title, tt := range map[string]struct {
		old, objects int64
		reserved     bool
		// before and late are the revisions of deletions that were observed before and after the count, at revision 10.
		before, late []int64
		want         int64
		left         int
	}{
		"first count":                         {objects: 3, want: 3},
		"nothing changed":                     {old: 3, objects: 3, reserved: true, want: 3},
		"object is being created":             {old: 4, objects: 3, reserved: true, want: 4},
		"object was not created":              {old: 4, objects: 3, want: 3},
		"deletion":                            {old: 4, objects: 3, reserved: true, before: []int64{9}, want: 3},
		"deletion and creation":               {old: 5, objects: 3, reserved: true, before: []int64{9}, want: 4},
		"deletion that is observed later":     {old: 5, objects: 3, reserved: true, late: []int64{9}, want: 5, left: 1},
		"late deletion after the exact count": {old: 3, objects: 3, reserved: true, late: []int64{10}, want: 3},
		"deletion after the count":            {old: 3, objects: 3, reserved: true, late: []int64{11}, want: 3, left: 1},
		"object without a reservation":        {old: 3, objects: 5, reserved: true, before: []int64{8}, want: 5},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			r := &run{}
			ts := tallies{name: &tally{folder: folder}}
			for _, revision := range tt.before {
				ts.count(folder, revision, true)
			}
			c := &count{tally: ts[name], objects: tt.objects, revision: 10, deleted: len(ts[name].deleted)}
			got := c.usage(tt.old, tt.reserved)
			r.written(map[corev1.ResourceName]*count{name: c})
			for _, revision := range tt.late {
				ts.count(folder, revision, true)
			}
			if left := len(ts[name].deleted); got != tt.want || left != tt.left {
				t.Errorf("usage %d with %d deletions left, want %d with %d", got, left, tt.want, tt.left)
			}
		})
	}
}
