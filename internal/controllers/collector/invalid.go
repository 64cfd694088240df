package collector

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/klog/v2"
)

// reportNamespace reports the dependents of an absent owner whose UID is that of an object in another namespace. There
// are limits to how many it reports.
func (r *run) reportNamespace(ctx context.Context, ref *reference) {
	served, ok := r.config.Kinds.OfKind(ref.groupVersionKind())
	if !ok || !r.reports.Allow() {
		return
	}
	namesakes, err := r.client.Resource(served.GroupVersionResource).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", ref.name).String(),
	})
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Owner could not be searched in other namespaces", "key", ref.key, "err", err)
		return
	}
	for n := range namesakes.Items {
		if namesakes.Items[n].UID == ref.uid {
			r.reportDependents(ctx, ref)
			return
		}
	}
}

// reportDependents creates an event for each dependent, of which the first needs no further allowance.
func (r *run) reportDependents(ctx context.Context, ref *reference) {
	reported := 0
	for _, dependent := range r.involved(ref) {
		if reported > 0 && !r.reports.Allow() {
			return
		}
		reported++
		klog.FromContext(ctx).Info("Owner is in another namespace",
			"dependent", klog.KRef(dependent.Namespace, dependent.Name),
			"kind", dependent.Kind, "owner", ref.String())
		message := fmt.Sprintf("ownerRef %s does not exist in namespace %q", ref, ref.namespace)
		if err := r.createEvent(ctx, dependent, message); err != nil {
			klog.FromContext(ctx).V(2).Info("Event was not created", "err", err) // events may not be served
		}
	}
}

// involved returns the dependents as events name them.
func (r *run) involved(ref *reference) []corev1.ObjectReference {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []corev1.ObjectReference
	for dependent := range ref.dependents {
		place, _ := r.config.Kinds.locate(dependent.key)
		if served, ok := r.config.Kinds.AtFolder(place.folder); ok {
			all = append(all, corev1.ObjectReference{
				APIVersion: served.GroupVersion().String(), Kind: served.Kind,
				Namespace: place.namespace, Name: place.name, UID: dependent.uid,
			})
		}
	}
	return all
}

// eventSource is upstream's.
const eventSource = "garbage-collector-controller"

func (r *run) createEvent(ctx context.Context, involved corev1.ObjectReference, message string) error {
	now := metav1.Now()
	_, err := r.events.Events(involved.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:      fmt.Sprintf("%s.%x", involved.Name, now.UnixNano()),
			Namespace: involved.Namespace,
		},
		InvolvedObject: involved, Type: corev1.EventTypeWarning, Reason: "OwnerRefInvalidNamespace", Message: message,
		Source: corev1.EventSource{Component: eventSource}, ReportingController: eventSource,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	return err
}

// String describes an owner as upstream does.
func (i *identity) String() string {
	return fmt.Sprintf("[%s/%s, namespace: %s, name: %s, uid: %s]", i.apiVersion, i.kind, i.namespace, i.name, i.uid)
}
