package write

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestFinalized(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	grace := int64(30)
	tests := []struct {
		name     string
		obj, old metav1.ObjectMeta
		want     bool
	}{
		{name: "last finalizer gone", old: metav1.ObjectMeta{DeletionTimestamp: &now, Finalizers: []string{"f"}},
			want: true},
		{name: "one is left", obj: metav1.ObjectMeta{Finalizers: []string{"f"}},
			old: metav1.ObjectMeta{DeletionTimestamp: &now}},
		{name: "not being deleted", old: metav1.ObjectMeta{Finalizers: []string{"f"}}},
		{name: "deleted by this very update", obj: metav1.ObjectMeta{DeletionTimestamp: &now}},
		{name: "grace period not over", old: metav1.ObjectMeta{DeletionTimestamp: &now,
			DeletionGracePeriodSeconds: &grace}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			obj, old := &metav1.PartialObjectMetadata{ObjectMeta: test.obj},
				&metav1.PartialObjectMetadata{ObjectMeta: test.old}
			if got := new(Endpoint).finalized(obj, old); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
