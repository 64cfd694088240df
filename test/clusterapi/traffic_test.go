package clusterapi

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// trafficNamespace has the objects of the clients.
const trafficNamespace = "machines"

// traffic is what clients do until they are stopped: they create, change, read and delete objects, and try to write
// invalid ones.
type traffic struct {
	*testing.T
	client dynamic.Interface
	// cancel ends the clients after their round; running waits for them.
	cancel  context.CancelFunc
	running sync.WaitGroup
	// rounds counts the rounds of each client.
	rounds [clients]atomic.Int64
	// phase is odd while the manager is down.
	phase atomic.Int64

	mu sync.Mutex // guards the fields below
	// outcomes counts requests by what they were, and what happened.
	outcomes map[string]int
	failures []string
}

// startTraffic starts the clients.
func startTraffic(t *testing.T, config *rest.Config) *traffic {
	t.Helper()
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: trafficNamespace}}
	core := kubernetes.NewForConfigOrDie(config).CoreV1()
	if _, err := core.Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	client := dynamic.NewForConfigOrDie(config)
	shops := client.Resource(clusters("v1beta2", "clusters")).Namespace(trafficNamespace)
	if _, err := shops.Create(t.Context(), pausedCluster(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	load := &traffic{T: t, client: client, cancel: cancel, outcomes: map[string]int{}}
	for i := range clients {
		load.running.Go(func() {
			for ctx.Err() == nil {
				for _, s := range samples {
					load.play(s, fmt.Sprintf("client-%d-round-%d", i, load.rounds[i].Load()))
				}
				load.rounds[i].Add(1)
			}
		})
	}
	t.Cleanup(load.running.Wait)
	t.Cleanup(cancel)
	load.await()
	return load
}

// await waits until each client has done a whole round that began after the call.
func (l *traffic) await() {
	l.Helper()
	var before [clients]int64
	for i := range l.rounds {
		before[i] = l.rounds[i].Load()
	}
	eventually(l.T, "rounds of all clients", func(context.Context) error {
		for i := range l.rounds {
			if done := l.rounds[i].Load() - before[i]; done < 2 {
				l.mu.Lock()
				defer l.mu.Unlock()
				return fmt.Errorf("client %d has done %d rounds; failures: %s", i, done, l.failures)
			}
		}
		return nil
	})
}

// whileDown runs a function during which webhooks may not answer.
func (l *traffic) whileDown(restart func()) {
	l.phase.Add(1)
	restart()
	l.phase.Add(1)
}

// stop stops the clients and reports what happened.
func (l *traffic) stop() {
	l.Helper()
	l.cancel()
	l.running.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for outcome, count := range l.outcomes {
		lines = append(lines, fmt.Sprintf("%6d %s", count, outcome))
	}
	slices.Sort(lines)
	l.Logf("requests:\n%s", strings.Join(lines, "\n"))
	for _, failure := range l.failures[:min(len(l.failures), 10)] {
		l.Error(failure)
	}
	if more := len(l.failures) - 10; more > 0 {
		l.Errorf("and %d more", more)
	}
}

// play sends all requests of a sample once.
func (l *traffic) play(s *sample, name string) {
	ctx := l.Context()
	objects := l.client.Resource(s.resource).Namespace(trafficNamespace)
	other := l.client.Resource(s.resource.GroupResource().WithVersion(s.other)).Namespace(trafficNamespace)
	for _, bad := range s.refusals {
		l.refused(s, "create", bad, func() error {
			_, err := objects.Create(ctx, s.invalid(name, bad.patch), metav1.CreateOptions{})
			return err
		})
	}
	created := l.accepted(s, "create", s.defaulted, func() (*unstructured.Unstructured, error) {
		return objects.Create(ctx, s.named(name), metav1.CreateOptions{})
	})
	if !created {
		return
	}
	patch := func(change string) (*unstructured.Unstructured, error) {
		return objects.Patch(ctx, name, types.MergePatchType, []byte(change), metav1.PatchOptions{})
	}
	if l.accepted(s, "patch", s.changed, func() (*unstructured.Unstructured, error) { return patch(s.change) }) {
		l.accepted(s, "read "+s.other, s.converted, func() (*unstructured.Unstructured, error) {
			return other.Get(ctx, name, metav1.GetOptions{})
		})
	}
	for _, bad := range s.refusals {
		bad.message = cmp.Or(bad.update, bad.message)
		l.refused(s, "patch", bad, func() error {
			_, err := patch(bad.patch)
			return err
		})
	}
	l.accepted(s, "delete", nil, func() (*unstructured.Unstructured, error) {
		return nil, objects.Delete(ctx, name, metav1.DeleteOptions{})
	})
}

// accepted sends a valid request. It returns false if the request failed.
func (l *traffic) accepted(s *sample, verb string, want []field, send func() (*unstructured.Unstructured, error)) bool {
	request := "valid " + verb + " " + s.resource.Resource + " " + s.resource.Version
	phase := l.phase.Load()
	object, err := send()
	if err != nil {
		l.failed(request, phase, err)
		return false
	}
	for _, f := range want {
		if value, _, err := unstructured.NestedFieldNoCopy(object.Object, f.path...); !reflect.DeepEqual(value, f.value) {
			l.record(request+" has other fields", fmt.Sprintf("%s: %v is %v, not %v (%v)", request, f.path, value, f.value, err))
			return true
		}
	}
	l.record(request+": succeeded", "")
	return true
}

// refused sends an invalid request.
func (l *traffic) refused(s *sample, verb string, bad refusal, send func() error) {
	request := "invalid " + verb + " " + s.resource.Resource + " " + s.resource.Version
	phase := l.phase.Load()
	err := send()
	switch {
	case err == nil:
		l.record(request+": passed", request+" passed: "+bad.patch)
	case contains(err, bad.message) == nil:
		l.record(request+": refused", "")
	default:
		l.failed(request, phase, err)
	}
}

// failed records a request that failed other than it should, which may be if the manager was down during it.
func (l *traffic) failed(request string, phase int64, err error) {
	calls := contains(err, "failed calling webhook") == nil || contains(err, "conversion webhook for") == nil
	if calls && (phase%2 == 1 || l.phase.Load() != phase) {
		l.record(request+": failed while the manager was down", "")
		return
	}
	l.record(request+": failed", fmt.Sprintf("%s: %v", request, err))
}

// record counts an outcome, and keeps a failure that is not empty.
func (l *traffic) record(outcome, failure string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes[outcome]++
	if failure != "" {
		l.failures = append(l.failures, failure)
	}
}
