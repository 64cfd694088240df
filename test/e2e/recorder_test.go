package e2e

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
)

// TestRecorders records events with both recorders of client-go. An event that repeats is written once, and then
// patched: with a count by the one, as a series by the other.
func TestRecorders(t *testing.T) {
	t.Parallel()
	const times = 3
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := clientset(t, adminConfig(t, run(t)))
	about, err := client.CoreV1().ConfigMaps("default").Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	older := record.NewBroadcaster(record.WithContext(ctx))
	defer older.Shutdown()
	older.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	newer := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	defer newer.Shutdown()
	if err := newer.StartRecordingToSinkWithContext(ctx); err != nil {
		t.Fatal(err)
	}
	olderRecorder := older.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "older"})
	newerRecorder := newer.NewRecorder(scheme.Scheme, "example.com/newer")
	for count := range int32(times) {
		olderRecorder.Event(about, corev1.EventTypeWarning, "Older", "it happened again")
		newerRecorder.Eventf(about, nil, corev1.EventTypeWarning, "Newer", "Repeat", "it happened again")
		await(t, ctx, "the events are recorded", func() bool {
			list, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			counts := repeats(list.Items)
			// The client writes the further repeats of a series every few minutes.
			return len(list.Items) == 2 && counts["Older"] == count+1 && counts["Newer"] >= min(count, 1)
		})
	}
	list, err := client.EventsV1().Events("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		event := &list.Items[i]
		if event.Regarding.UID != about.UID || event.Note != "it happened again" || event.Type != corev1.EventTypeWarning {
			t.Errorf("the event is %v", event)
		}
		switch {
		case event.Reason == "Older" && event.DeprecatedCount == times && event.DeprecatedSource.Component == "older":
		case event.Reason == "Newer" && event.Series.Count > 1 && event.ReportingController == "example.com/newer":
		default:
			t.Errorf("the event is %v", event)
		}
	}
}

// repeats returns how often each event happened, by reasons.
func repeats(all []corev1.Event) map[string]int32 {
	counts := map[string]int32{}
	for i := range all {
		counts[all[i].Reason] = all[i].Count
		if all[i].Series != nil {
			counts[all[i].Reason] = all[i].Series.Count
		}
	}
	return counts
}
