package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
)

// Observation is the state of a key below the prefix, of any resource, in memory or not.
type Observation struct {
	// Key is the key in etcd without the prefix: "<folder>/<name>" or "<folder>/<namespace>/<name>".
	Key string
	// Revision is the revision of the change, or of the deletion.
	Revision int64
	// Deleted: there is no such key.
	Deleted bool
	// More: the transaction has changed more of the observed keys, which follow.
	More bool
	// Value is the value, decrypted. It is nil if the key is deleted or the value cannot be decrypted. The observer must
	// not modify it.
	Value []byte
	// Err is the reason why the value cannot be decrypted.
	Err error
}

// Observer learns the state of keys. Its methods are called one after the other.
type Observer interface {
	// Reset is called before a scan, the first time and each time events were lost. What was observed before may be
	// wrong.
	Reset()
	// Observe is called for every key that a scan finds, and then for every event, in the order of their revisions.
	Observe(o Observation)
	// Scanned is called at the end of a scan, with its revision.
	Scanned(revision int64)
}

// maxObserved bounds the values of events that wait for an observer. An observer that falls behind starts over.
const maxObserved = 64 << 20

// Observe scans the keys in some folders at one revision, and follows the feed from there until ctx is done or the
// store stops. Without folders it observes all keys below the prefix. It loads no resource.
func (s *Store) Observe(ctx context.Context, observer Observer, folders ...string) {
	o := &observation{observer: observer}
	for _, folder := range folders {
		o.prefixes = append(o.prefixes, s.prefix+"/"+folder+"/")
	}
	if len(folders) == 0 {
		o.prefixes = []string{s.prefix + "/"}
	}
	s.observe(ctx, o)
}

// Follow is Observe without the scan, for the events of keys that concerns accepts. After Reset and Scanned, which come
// together, the observer has to find out itself what the state is.
func (s *Store) Follow(ctx context.Context, concerns func(key string) bool, observer Observer) {
	s.observe(ctx, &observation{observer: observer, concerns: concerns})
}

func (s *Store) observe(ctx context.Context, o *observation) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.background, cancel)()
	o.store, o.woken = s, make(chan struct{}, 1)
	s.feed.addObservation(o)
	defer s.feed.removeObservation(o)
	select {
	case <-s.feed.started:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		err := o.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		klog.FromContext(ctx).Info("Observing etcd again", "reason", err)
		_ = s.pause(ctx, maxBackoff)
	}
}

// observation brings the events of the feed to an observer.
type observation struct {
	store    *Store
	observer Observer
	// prefixes are those of the keys in etcd to observe, or concerns accepts them.
	prefixes []string
	concerns func(key string) bool
	// woken has an element when events have arrived or were lost.
	woken chan struct{}

	// mu guards the fields below.
	mu     sync.Mutex
	events []*clientv3.Event
	bytes  int
	lost   bool
}

var errEventsLost = errors.New("events were lost")

// follow scans, and then hands over events until it fails or ctx is done. No event is missed: the scan is linearizable
// and begins after the buffering of events.
func (o *observation) follow(ctx context.Context) error {
	o.begin()
	o.observer.Reset()
	var revision int64
	for _, prefix := range o.prefixes { // all at the revision of the first
		var err error
		scanned := keyRange{from: prefix, to: prefixEnd(prefix), revision: revision}
		revision, err = o.store.readPages(ctx, scanned, func(kv *mvccpb.KeyValue) bool {
			o.observer.Observe(o.store.observed(ctx, kv))
			return ctx.Err() == nil
		})
		if err != nil {
			return fmt.Errorf("scanning: %w", err)
		}
	}
	events, err := o.take()
	if err != nil {
		return err
	}
	o.observer.Scanned(revision)
	for ; err == nil; events, err = o.next(ctx) {
		o.hand(ctx, events, revision)
	}
	return err
}

// hand hands over the events that are newer than the scan.
func (o *observation) hand(ctx context.Context, events []*clientv3.Event, scanned int64) {
	for n, event := range events {
		kv := event.Kv
		if kv.ModRevision <= scanned {
			continue
		}
		change := Observation{Key: o.store.keyBelowPrefix(kv.Key), Revision: kv.ModRevision, Deleted: true}
		if event.Type != clientv3.EventTypeDelete {
			change = o.store.observed(ctx, kv)
		}
		change.More = n+1 < len(events) && events[n+1].Kv.ModRevision == kv.ModRevision
		o.observer.Observe(change)
	}
}

// begin drops the events so far. The scan that follows includes them.
func (o *observation) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events, o.bytes, o.lost = nil, 0, false
}

// next waits for events.
func (o *observation) next(ctx context.Context) ([]*clientv3.Event, error) {
	select {
	case <-o.woken:
		return o.take()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// take returns the events that have arrived.
func (o *observation) take() ([]*clientv3.Event, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost {
		return nil, errEventsLost
	}
	events := o.events
	o.events, o.bytes = nil, 0
	return events, nil
}

// receive buffers the events of the feed that are newer than known.
func (o *observation) receive(events []*clientv3.Event, known int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, event := range events {
		if event.Kv.ModRevision > known && !o.lost && o.covers(event.Kv.Key) {
			o.events = append(o.events, event)
			o.bytes += len(event.Kv.Key) + len(event.Kv.Value)
		}
	}
	if o.bytes > maxObserved {
		o.loseLocked()
	}
	if len(o.events) > 0 || o.lost {
		o.wake()
	}
}

// covers reports whether a key in etcd is one of those to observe.
func (o *observation) covers(key []byte) bool {
	if o.concerns != nil {
		return o.concerns(o.store.keyBelowPrefix(key))
	}
	return slices.ContainsFunc(o.prefixes, func(prefix string) bool {
		return len(key) > len(prefix) && string(key[:len(prefix)]) == prefix
	})
}

// lose makes the observer start over.
func (o *observation) lose() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.loseLocked()
	o.wake()
}

func (o *observation) loseLocked() { o.events, o.bytes, o.lost = nil, 0, true }

func (o *observation) wake() {
	select {
	case o.woken <- struct{}{}:
	default:
	}
}

// Read returns the present state in etcd of a key without the prefix, "<folder>/<name>" or
// "<folder>/<namespace>/<name>". It loads no resource.
func (s *Store) Read(ctx context.Context, key string) (Observation, error) {
	resp, err := s.get(ctx, s.prefix+"/"+key)
	if err != nil {
		return Observation{}, err
	}
	if len(resp.Kvs) == 0 {
		return Observation{Key: key, Revision: resp.Header.Revision, Deleted: true}, nil
	}
	return s.observed(ctx, resp.Kvs[0]), nil
}

func (s *Store) observed(ctx context.Context, kv *mvccpb.KeyValue) Observation {
	o := Observation{Key: s.keyBelowPrefix(kv.Key), Revision: kv.ModRevision, Value: kv.Value}
	if transform := s.options.Transform; transform != nil {
		o.Value, _, o.Err = transform.FromStorage(ctx, kv.Value, string(kv.Key))
		if o.Err != nil {
			o.Value = nil
		}
	}
	return o
}

func (s *Store) keyBelowPrefix(key []byte) string {
	return strings.TrimPrefix(string(key[len(s.prefix):]), "/")
}

// addObservation makes the feed hand its events to an observation.
func (f *feed) addObservation(o *observation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := append(slices.Clone(f.observing()), o)
	f.observations.Store(&all)
}

func (f *feed) removeObservation(o *observation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(f.observing()), func(other *observation) bool { return other == o })
	f.observations.Store(&all)
}

// observing returns the present observations.
func (f *feed) observing() []*observation {
	if all := f.observations.Load(); all != nil {
		return *all
	}
	return nil
}
