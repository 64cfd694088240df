package server

import (
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// latencies tell what a request's time was spent on, such as waiting for webhooks. All are there from the beginning, in
// one piece with the context: a read needs two of them, and to make apiserver's own one by one takes longer than the read.
type latencies struct {
	trackers                                                                      request.LatencyTrackers
	mutating, authentication, storage, transform, serialization, response, decode sum
	impersonation                                                                 sum
	validating, authorization, queue                                              longest
}

// all returns the trackers, the same each time.
func (l *latencies) all() *request.LatencyTrackers { return &l.trackers }

// begin makes them known to each other; it is called once, before anybody else has them.
func (l *latencies) begin() {
	l.trackers = request.LatencyTrackers{
		MutatingWebhookTracker:   &l.mutating,
		ValidatingWebhookTracker: &l.validating,
		AuthenticationTracker:    &l.authentication,
		AuthorizationTracker:     &l.authorization,
		APFQueueWaitTracker:      &l.queue,
		StorageTracker:           &l.storage,
		TransformTracker:         &l.transform,
		SerializationTracker:     &l.serialization,
		ResponseWriteTracker:     &l.response,
		DecodeTracker:            &l.decode,
		ImpersonationTracker:     &l.impersonation,
	}
}

// sum adds durations up, of what happens one after the other. It implements request.DurationTracker.
type sum struct{ total atomic.Int64 }

// Track implements request.DurationTracker.
func (s *sum) Track(f func()) { track(s, f) }

// TrackDuration implements request.DurationTracker.
func (s *sum) TrackDuration(d time.Duration) { s.total.Add(int64(d)) }

// GetLatency implements request.DurationTracker.
func (s *sum) GetLatency() time.Duration { return time.Duration(s.total.Load()) }

// longest keeps the longest of durations, of what happens at the same time. It implements request.DurationTracker.
type longest struct{ most atomic.Int64 }

// Track implements request.DurationTracker.
func (l *longest) Track(f func()) { track(l, f) }

// TrackDuration implements request.DurationTracker.
func (l *longest) TrackDuration(d time.Duration) {
	for most := l.most.Load(); int64(d) > most && !l.most.CompareAndSwap(most, int64(d)); {
		most = l.most.Load()
	}
}

// GetLatency implements request.DurationTracker.
func (l *longest) GetLatency() time.Duration { return time.Duration(l.most.Load()) }

// track counts the time that f takes, however it ends.
func track(t request.DurationTracker, f func()) {
	began := time.Now()
	defer func() { t.TrackDuration(time.Since(began)) }()
	f()
}
