package objectmeta

import (
	"fmt"
	"slices"
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
			err := MatchNamespace(test.request, m)
			if test.wantErr != "" {
				if err == nil || err.Error() != test.wantErr || !apierrors.IsBadRequest(err) {
					t.Errorf("got %v, want %s", err, test.wantErr)
				}
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
			err := MatchName(obj, "ns", "x")
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || err.Error() != test.want || !apierrors.IsBadRequest(err) {
				t.Errorf("got %v, want %s", err, test.want)
			}
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
	KeepSystemFields(obj, old)
	if diff := cmp.Diff(old, obj); diff != "" {
		t.Errorf("not kept (-old +new):\n%s", diff)
	}
	other := &metav1.ObjectMeta{UID: "other"}
	KeepSystemFields(other, old)
	if other.UID != "other" {
		t.Error("a UID sent by the client must stay, so that validation sees it")
	}
}

func TestCollectorFinalizers(t *testing.T) {
	t.Parallel()
	const orphan, foreground = metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents
	yes, no := true, false
	policy := func(p metav1.DeletionPropagation) metav1.DeleteOptions {
		return metav1.DeleteOptions{PropagationPolicy: &p}
	}
	tests := []struct {
		name       string
		finalizers []string
		options    metav1.DeleteOptions
		want       []string
	}{
		{name: "nothing said", finalizers: []string{"x"}, want: []string{"x"}},
		{name: "nothing said, set before", finalizers: []string{orphan, "x"}, want: []string{orphan, "x"}},
		{name: "nothing said, both set before", finalizers: []string{foreground, "x", orphan},
			want: []string{foreground, "x"}},
		{name: "orphan", finalizers: []string{"x"}, options: policy(metav1.DeletePropagationOrphan),
			want: []string{"x", orphan}},
		{name: "foreground", options: policy(metav1.DeletePropagationForeground), want: []string{foreground}},
		{name: "foreground instead of orphan", finalizers: []string{orphan},
			options: policy(metav1.DeletePropagationForeground), want: []string{foreground}},
		{name: "background", finalizers: []string{orphan, "x", foreground},
			options: policy(metav1.DeletePropagationBackground), want: []string{"x"}},
		//lint:ignore SA1019 old clients set it
		{name: "old orphan", options: metav1.DeleteOptions{OrphanDependents: &yes}, want: []string{orphan}},
		//lint:ignore SA1019 old clients set it
		{name: "old no orphan", finalizers: []string{orphan}, options: metav1.DeleteOptions{OrphanDependents: &no}},
	}
	repeated := NamespaceCollectorFinalizers([]string{"x", "x"},
		&metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)})
	if want := []string{"x", orphan}; !slices.Equal(repeated, want) {
		t.Errorf("got %v of repeated finalizers of a namespace, want %v", repeated, want)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := slices.Clone(test.finalizers)
			if got := CollectorFinalizers(test.finalizers, &test.options); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if !slices.Equal(before, test.finalizers) {
				t.Error("the argument was modified")
			}
			//lint:ignore SA1019 old clients set it
			if orphan := test.options.OrphanDependents; orphan != nil && !*orphan {
				test.want = []string{foreground}
			}
			if got := NamespaceCollectorFinalizers(test.finalizers, &test.options); !slices.Equal(got, test.want) {
				t.Errorf("got %v for a namespace, want %v", got, test.want)
			}
		})
	}
}

func TestMarkDeleting(t *testing.T) {
	t.Parallel()
	now := metav1.NewTime(time.Unix(1000, 0))
	past, future := metav1.NewTime(time.Unix(500, 0)), metav1.NewTime(time.Unix(2000, 0))
	tests := []struct {
		name           string
		before         metav1.ObjectMeta
		want           metav1.Time
		wantGeneration int64
	}{
		{name: "first time", before: metav1.ObjectMeta{Generation: 3}, want: now, wantGeneration: 4},
		{name: "no generation", want: now},
		{name: "again", before: metav1.ObjectMeta{Generation: 3, DeletionTimestamp: &past}, want: past,
			wantGeneration: 3},
		{name: "due later", before: metav1.ObjectMeta{Generation: 3, DeletionTimestamp: &future}, want: now,
			wantGeneration: 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := test.before
			MarkDeleting(&m, now)
			if !m.DeletionTimestamp.Equal(&test.want) || m.Generation != test.wantGeneration {
				t.Errorf("got %v, generation %d, want %v, generation %d", m.DeletionTimestamp, m.Generation, test.want,
					test.wantGeneration)
			}
			if m.DeletionGracePeriodSeconds == nil || *m.DeletionGracePeriodSeconds != 0 {
				t.Errorf("grace period: got %v, want 0", m.DeletionGracePeriodSeconds)
			}
		})
	}
}

// TestUniqueOwnersOfOneUID checks that many references with one UID are all kept, in their order.
func TestUniqueOwnersOfOneUID(t *testing.T) {
	t.Parallel()
	refs := make([]metav1.OwnerReference, 0, 40_000)
	for i := range 20_000 {
		ref := metav1.OwnerReference{UID: "u", Name: fmt.Sprint(i)}
		refs = append(refs, ref, ref)
	}
	kept, duplicates := uniqueOwners(refs)
	if len(kept) != 20_000 || len(duplicates) != 20_000 || kept[19_999].Name != "19999" {
		t.Error(len(kept), len(duplicates))
	}
}
