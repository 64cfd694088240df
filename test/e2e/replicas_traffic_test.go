package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// The size of the traffic, and how many writes must be acknowledged for goesOn to return.
const (
	trafficWriters = 4
	trafficWatches = 3
	trafficGoesOn  = 40
)

// requestPatience bounds a request of the traffic.
const requestPatience = 20 * time.Second

// traffic is the clients that write regions, read them back and watch them while replicas restart.
type traffic struct {
	*replicas
	ctx      context.Context
	end      context.CancelFunc // ends the writers
	writers  sync.WaitGroup
	watches  []*follower
	informed *informed

	mu sync.Mutex // guards the fields below
	// acknowledged maps the revisions of acknowledged writes to what they wrote.
	acknowledged map[string]string
	// last is, by name, what was acknowledged last; "" for deleted ones. A name in unknown has had a later write
	// without a response.
	last    map[string]string
	unknown map[string]bool
	// changed is closed and replaced when a write is acknowledged.
	changed chan struct{}
	failed  map[string]int
}

// startTraffic starts clients, which stop ends.
func startTraffic(r *replicas) *traffic {
	r.Helper()
	tr := &traffic{
		replicas: r, acknowledged: map[string]string{}, last: map[string]string{}, unknown: map[string]bool{},
		changed: make(chan struct{}), failed: map[string]int{},
	}
	tr.ctx, tr.end = context.WithCancel(r.Context())
	r.Cleanup(tr.end)
	list, err := r.client().Resource(resources["Region"]).List(r.Context(), metav1.ListOptions{})
	if err != nil {
		r.Fatal(err)
	}
	for range trafficWatches {
		tr.watches = append(tr.watches, follow(tr, list.GetResourceVersion()))
	}
	tr.informed = inform(tr)
	for writer := range trafficWriters {
		client := r.client().Resource(resources["Region"])
		tr.writers.Go(func() { tr.write(client, writer) }) // ends with tr.ctx
	}
	return tr
}

// goesOn waits until more writes are acknowledged.
func (tr *traffic) goesOn() {
	tr.Helper()
	patient, cancel := context.WithTimeout(tr.ctx, 2*patience)
	defer cancel()
	began, changed := tr.progress()
	for count := began; count < began+trafficGoesOn; count, changed = tr.progress() {
		select {
		case <-changed:
		case <-patient.Done():
			tr.Fatalf("writing does not go on: %v; what failed: %v", patient.Err(), tr.failed)
		}
	}
}

// progress returns the number of acknowledged writes, and a channel that the next one closes.
func (tr *traffic) progress() (int, <-chan struct{}) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return len(tr.acknowledged), tr.changed
}

// write creates, changes and deletes regions until the context ends. It keeps every third one.
func (tr *traffic) write(regions dynamic.ResourceInterface, writer int) {
	for n := 0; tr.ctx.Err() == nil; n++ {
		object := region(fmt.Sprintf("w%d-%d", writer, n))
		object = tr.try(object.GetName(), func(ctx context.Context) (*unstructured.Unstructured, error) {
			return regions.Create(ctx, object, metav1.CreateOptions{})
		})
		for change := 0; change < 2 && object != nil; change++ {
			object.Object["spec"].(map[string]any)["location"] = fmt.Sprintf("%s-%d", object.GetName(), change)
			written := object
			if object = tr.try(object.GetName(), func(ctx context.Context) (*unstructured.Unstructured, error) {
				return regions.Update(ctx, written, metav1.UpdateOptions{})
			}); object != nil {
				tr.readBack(regions, object)
			}
		}
		if object != nil && n%3 != 0 {
			name := object.GetName()
			tr.try(name, func(ctx context.Context) (*unstructured.Unstructured, error) {
				return nil, regions.Delete(ctx, name, metav1.DeleteOptions{})
			})
		}
	}
}

// try sends a write once and records its result. It returns nil unless there is an object that can be changed
// further.
func (tr *traffic) try(name string, write func(context.Context) (*unstructured.Unstructured,
	error)) *unstructured.Unstructured {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tr.ctx), requestPatience)
	defer cancel()
	object, err := write(ctx)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if err != nil {
		tr.unknown[name] = true
		tr.noteLocked(err)
		return nil
	}
	location := ""
	if object != nil {
		location, _, _ = unstructured.NestedString(object.Object, "spec", "location")
		tr.acknowledged[object.GetResourceVersion()] = name + "=" + location
	}
	tr.last[name] = location
	close(tr.changed)
	tr.changed = make(chan struct{})
	return object
}

// readBack reads a region from any replica. The result must be at least as new as the last acknowledged write.
func (tr *traffic) readBack(regions dynamic.ResourceInterface, written *unstructured.Unstructured) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tr.ctx), requestPatience)
	defer cancel()
	read, err := regions.Get(ctx, written.GetName(), metav1.GetOptions{})
	if err != nil {
		tr.note(err)
		return
	}
	if revisionOf(read) != revisionOf(written) {
		tr.Errorf("%s was acknowledged at revision %s, and is read at %s", written.GetName(),
			written.GetResourceVersion(), read.GetResourceVersion())
	}
}

func (tr *traffic) note(err error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.noteLocked(err)
}

// noteLocked counts a failure. It must be one that clients retry.
func (tr *traffic) noteLocked(err error) {
	kind, ok := retriable(err)
	if !ok {
		tr.Errorf("a request fails with %T %v", err, err)
	}
	tr.failed[kind]++
}

// retriable names the kind of an error that clients retry.
func retriable(err error) (kind string, ok bool) {
	switch {
	case utilnet.IsConnectionRefused(err):
		return "refused", true
	case apierrors.IsTooManyRequests(err):
		return "429", true
	case apierrors.IsServiceUnavailable(err):
		return "503", true
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return "504", true
	case utilnet.IsConnectionReset(err), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.EPIPE),
		errors.Is(err, net.ErrClosed), utilnet.IsHTTP2ConnectionLost(err),
		strings.Contains(err.Error(), "server sent GOAWAY"):
		return "connection lost", true
	}
	return err.Error(), false
}

// stop ends the writers.
func (tr *traffic) stop() {
	tr.end()
	tr.writers.Wait()
}

// check compares the acknowledged writes with the objects and with the events of watches.
func (tr *traffic) check() {
	tr.Helper()
	_, err := tr.client().Resource(resources["Region"]).Create(tr.Context(), region(lastRegion), metav1.CreateOptions{})
	if err != nil {
		tr.Fatal(err)
	}
	list, err := tr.client().Resource(resources["Region"]).List(tr.Context(), metav1.ListOptions{})
	if err != nil {
		tr.Fatal(err)
	}
	found := map[string]string{}
	revisions := map[string]string{}
	for _, item := range list.Items {
		found[item.GetName()], _, _ = unstructured.NestedString(item.Object, "spec", "location")
		revisions[item.GetName()] = item.GetResourceVersion()
	}
	for name, location := range tr.last {
		if found[name] != location && !tr.unknown[name] {
			tr.Errorf("%s was acknowledged as %q, and is %q", name, location, found[name])
		}
	}
	for i, follower := range tr.watches {
		follower.finish()
		tr.checkEvents(fmt.Sprint("watch ", i), follower)
		if !slices.Equal(follower.events, tr.watches[0].events) {
			tr.Errorf("watch %d has seen other events than watch 0", i)
		}
	}
	tr.informed.finish(revisions)
	tr.Logf("%d acknowledged writes, %d events; failures: %v; watches began %d times", len(tr.acknowledged),
		len(tr.watches[0].events), tr.failed, tr.watches[0].begun)
}

// checkEvents checks that a watch has seen each acknowledged write once, in order.
func (tr *traffic) checkEvents(name string, follower *follower) {
	tr.Helper()
	told, deleted := map[string]bool{}, map[string]bool{}
	var newest uint64
	for _, event := range follower.events {
		if event.revision <= newest {
			tr.Errorf("%s: revision %d comes after %d", name, event.revision, newest)
		}
		newest = event.revision
		told[fmt.Sprint(event.revision)] = true
		deleted[event.name] = event.kind == watch.Deleted
	}
	for revision, what := range tr.acknowledged {
		if !told[revision] {
			tr.Errorf("%s has not seen revision %s, %s", name, revision, what)
		}
	}
	for object, location := range tr.last {
		if location == "" && !deleted[object] {
			tr.Errorf("%s has not seen that %s was deleted", name, object)
		}
	}
}
