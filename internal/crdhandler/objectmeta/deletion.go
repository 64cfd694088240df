package objectmeta

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// MarkDeleting sets the deletion timestamp of an object with finalizers. The first time it increments the generation
// as well (W13).
func MarkDeleting(m metav1.Object, now metav1.Time) {
	deleted := m.GetDeletionTimestamp()
	if deleted == nil && m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
	if deleted == nil || deleted.After(now.Time) {
		m.SetDeletionTimestamp(&now)
	}
	m.SetDeletionGracePeriodSeconds(new(int64))
}

// CollectorFinalizers returns the finalizers of an object with the garbage collector's finalizers that the options
// ask for (W16).
func CollectorFinalizers(finalizers []string, options *metav1.DeleteOptions) []string {
	wanted := collectorFinalizer(finalizers, options)
	var kept []string
	found := false
	for _, f := range finalizers {
		if f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents {
			if f != wanted {
				continue
			}
			found = true
		}
		kept = append(kept, f)
	}
	if wanted != "" && !found {
		kept = append(kept, wanted)
	}
	return kept
}

// OrphanByDefault returns options that orphan the dependents of an object, unless the options or the finalizers say
// what happens to them. It does not change the options.
func OrphanByDefault(finalizers []string, options *metav1.DeleteOptions) *metav1.DeleteOptions {
	//lint:ignore SA1019 old clients set it
	decided := options.OrphanDependents != nil || options.PropagationPolicy != nil
	if decided || collectorFinalizer(finalizers, options) != "" {
		return options
	}
	orphan := options.DeepCopy()
	orphan.PropagationPolicy = new(metav1.DeletePropagationOrphan)
	return orphan
}

// NamespaceCollectorFinalizers is CollectorFinalizers for the deletion that a namespace begins with. kube-apiserver
// takes orphanDependents=false for a foreground deletion there. When it changes the finalizers, it drops repeated ones.
func NamespaceCollectorFinalizers(finalizers []string, options *metav1.DeleteOptions) []string {
	//lint:ignore SA1019 old clients set it
	if orphan := options.OrphanDependents; orphan != nil && !*orphan {
		options = &metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}
	}
	kept := CollectorFinalizers(finalizers, options)
	if slices.Equal(kept, finalizers) {
		return kept
	}
	seen := sets.New[string]()
	return slices.DeleteFunc(kept, func(finalizer string) bool {
		repeated := seen.Has(finalizer)
		seen.Insert(finalizer)
		return repeated
	})
}

// collectorFinalizer returns the finalizer of the garbage collector that an object gets; "" for none.
func collectorFinalizer(finalizers []string, options *metav1.DeleteOptions) string {
	//lint:ignore SA1019 old clients set it
	if orphan := options.OrphanDependents; orphan != nil {
		if *orphan {
			return metav1.FinalizerOrphanDependents
		}
		return ""
	}
	if policy := options.PropagationPolicy; policy != nil {
		switch *policy {
		case metav1.DeletePropagationOrphan:
			return metav1.FinalizerOrphanDependents
		case metav1.DeletePropagationForeground:
			return metav1.FinalizerDeleteDependents
		case metav1.DeletePropagationBackground:
			return ""
		}
	}
	for _, f := range finalizers {
		if f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents {
			return f
		}
	}
	return ""
}

// DeleteOnly returns options of a deletion that is for the object with a UID. Options that name one are not changed.
func DeleteOnly(uid types.UID, options *metav1.DeleteOptions) *metav1.DeleteOptions {
	if options.Preconditions != nil && options.Preconditions.UID != nil {
		return options
	}
	only := options.DeepCopy()
	if only.Preconditions == nil {
		only.Preconditions = &metav1.Preconditions{}
	}
	only.Preconditions.UID = &uid
	return only
}
