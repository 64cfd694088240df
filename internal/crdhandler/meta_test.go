package crdhandler

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestMatchNamespace(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, request, own, want, wantErr string }{
		{name: "same", request: "a", own: "a", want: "a"},
		{name: "defaulted", request: "a", want: "a"},
		{name: "cluster-scoped", own: "a", want: ""},
		{name: "another", request: "a", own: "b",
			wantErr: "the namespace of the provided object does not match the namespace sent on the request"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := &metav1.ObjectMeta{Namespace: test.own}
			err := matchNamespace(test.request, m)
			if test.wantErr != "" {
				wantStatus(t, err, http.StatusBadRequest, metav1.StatusReasonBadRequest, test.wantErr)
				return
			}
			if err != nil || m.Namespace != test.want {
				t.Errorf("got namespace %q, error %v, want %q", m.Namespace, err, test.want)
			}
		})
	}
}

func TestMatchName(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, own, ownNamespace, want string }{
		{name: "same", own: "x", ownNamespace: "ns"},
		{name: "none", ownNamespace: "ns",
			want: "the name of the object (x based on URL) was undeterminable: name must be provided"},
		{name: "another", own: "y", want: "the name of the object (y) does not match the name on the URL (x)"},
		{name: "another namespace", own: "x", ownNamespace: "other",
			want: "the namespace of the object (other) does not match the namespace on the request (ns)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: test.own,
				Namespace: test.ownNamespace}}
			err := matchName(obj, "ns", "x")
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantStatus(t, err, http.StatusBadRequest, metav1.StatusReasonBadRequest, test.want)
		})
	}
}

func TestUniqueOwners(t *testing.T) {
	t.Parallel()
	owner := func(uid, name string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: types.UID(uid)}
	}
	kept, duplicates := uniqueOwners([]metav1.OwnerReference{
		owner("1", "a"), owner("2", "b"), owner("1", "a"), owner("1", "other name"), owner("1", "a"),
	})
	if diff := cmp.Diff([]metav1.OwnerReference{owner("1", "a"), owner("2", "b"), owner("1", "other name")},
		kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if want := []string{"1", "1"}; !slices.Equal(duplicates, want) {
		t.Errorf("duplicates: got %v, want %v", duplicates, want)
	}
}

func TestKeepSystemFields(t *testing.T) {
	t.Parallel()
	earlier, later := metav1.NewTime(time.Unix(1000, 0)), metav1.NewTime(time.Unix(2000, 0))
	old := &metav1.ObjectMeta{UID: "old", CreationTimestamp: earlier, DeletionTimestamp: &earlier,
		DeletionGracePeriodSeconds: new(int64)}
	obj := &metav1.ObjectMeta{CreationTimestamp: later, DeletionTimestamp: &later}
	keepSystemFields(obj, old)
	if diff := cmp.Diff(old, obj); diff != "" {
		t.Errorf("not kept (-old +new):\n%s", diff)
	}
	other := &metav1.ObjectMeta{UID: "other"}
	keepSystemFields(other, old)
	if other.UID != "other" {
		t.Error("a UID sent by the client must stay, so that validation sees it")
	}
}

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
