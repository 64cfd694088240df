package crdhandler

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
			if got := new(requestScope).finalized(obj, old); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// wantStatus checks the code, reason and message of an API error.
func wantStatus(t *testing.T, err error, code int32, reason metav1.StatusReason, message string) {
	t.Helper()
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		t.Fatalf("got %v, want a Status", err)
	}
	got := status.Status()
	if got.Code != code || got.Reason != reason || got.Message != message {
		t.Errorf("got %d %s %q\nwant %d %s %q", got.Code, got.Reason, got.Message, code, reason, message)
	}
}
