package crdhandler

import (
	"strings"
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

func TestManagerName(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, manager, userAgent, want string }{
		{name: "given", manager: "me", userAgent: "kubectl/v1", want: "me"},
		{name: "from the user agent", userAgent: "kubectl/v1.37 (linux/amd64)", want: "kubectl"},
		{name: "no slash", userAgent: "curl", want: "curl"},
		{name: "unprintable", userAgent: "a\x00b\u200bc/1", want: "abc"},
		{name: "long", userAgent: strings.Repeat("x", 200) + "/1", want: strings.Repeat("x", 128)},
		{name: "long, of wide runes", userAgent: strings.Repeat("€", 100), want: strings.Repeat("€", 42)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := managerName(test.manager, test.userAgent); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
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
