package server

import (
	"reflect"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// TestLatencies: each of apiserver's trackers is there, is alone, and does with durations what apiserver's does.
func TestLatencies(t *testing.T) {
	var own latencies
	own.begin()
	known, _ := request.LatencyTrackersFrom(request.WithLatencyTrackers(t.Context()))
	theirs := reflect.ValueOf(*known)
	trackers := reflect.ValueOf(*own.all())
	for i := range trackers.NumField() {
		for _, of := range []reflect.Value{trackers, theirs} {
			tracker := of.Field(i).Interface().(request.DurationTracker)
			if got := tracker.GetLatency(); got != 0 {
				t.Errorf("%s begins with %v", of.Type().Field(i).Name, got)
			}
			for _, seconds := range []time.Duration{2, 5, 3} {
				tracker.TrackDuration(seconds * time.Second)
			}
			called := false
			tracker.Track(func() { called = true })
			if !called {
				t.Errorf("%s does not call", of.Type().Field(i).Name)
			}
		}
		got := trackers.Field(i).Interface().(request.DurationTracker).GetLatency()
		want := theirs.Field(i).Interface().(request.DurationTracker).GetLatency()
		if got.Truncate(time.Second) != want.Truncate(time.Second) {
			t.Errorf("%s: %v, upstream %v", trackers.Type().Field(i).Name, got, want)
		}
	}
}
