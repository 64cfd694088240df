package dynamicstorage

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// receive handles events of the watch. Afterwards the feed has reached their revision.
func (f *feed) receive(ctx context.Context, events []*clientv3.Event) {
	changed := f.distribute(ctx, events)
	for _, o := range f.observing() {
		o.receive(events, f.current())
	}
	// The revision in the header is that of etcd. It may be newer than the events of this response.
	last := events[len(events)-1]
	if last.Kv.ModRevision > f.current() {
		f.remember(&witness{kv: last.Kv, deleted: last.Type == clientv3.EventTypeDelete})
		f.move(last.Kv.ModRevision)
	}
	for _, r := range changed {
		r.deliver()
	}
}

// distribute hands the events of a response to their resources, to each all of its events at once. It returns the
// resources in memory that had events.
func (f *feed) distribute(ctx context.Context, events []*clientv3.Event) (changed []*Resource) {
	known := f.current()
	var resources []*Resource
	byResource := map[*Resource][]*clientv3.Event{}
	for _, event := range events {
		if event.Kv.ModRevision <= known { // received before
			continue
		}
		r := f.store.find(event.Kv.Key)
		if r == nil {
			f.ignored.Add(1)
			continue
		}
		if byResource[r] == nil {
			resources = append(resources, r)
		}
		byResource[r] = append(byResource[r], event)
	}
	for _, r := range resources {
		n := int64(len(byResource[r]))
		if !r.receive(ctx, byResource[r]) {
			f.ignored.Add(n)
			continue
		}
		r.counts.received.Add(n)
		changed = append(changed, r)
	}
	return changed
}
