package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/crd-server/crd-server/test/process"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// TestRestart stops or kills the server and starts it again on its data. It must have everything that it has
// acknowledged, and its revisions must grow.
func TestRestart(t *testing.T) {
	endings := map[string]func(*process.Server) error{
		"SIGTERM": (*process.Server).Stop,
		"SIGKILL": (*process.Server).Kill,
	}
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := process.Options{DataDir: filepath.Join(t.TempDir(), "data")}
			server := start(t, options)
			installSamples(t, server)
			var acknowledged ledger
			for round := range 3 {
				client := dynamicClient(t, server)
				writeWhile(t, client, &acknowledged, round, func() error { return end(server) })
				options.Port = server.Port()
				server = start(t, options)
				acknowledged.check(t, dynamicClient(t, server))
			}
			livesOn(t, server)
			if err := server.Stop(); err != nil {
				t.Errorf("the server did not stop cleanly: %v", err)
			}
		})
	}
}

// ledger records what the server has acknowledged.
type ledger struct {
	mu sync.Mutex // guards the fields below
	// revisions has the resourceVersion of each object created.
	revisions map[string]uint64
	// newest is the highest of them.
	newest uint64
}

func (l *ledger) add(object *unstructured.Unstructured) (total int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.revisions == nil {
		l.revisions = map[string]uint64{}
	}
	revision := revisionOf(object)
	l.revisions[object.GetName()] = revision
	l.newest = max(l.newest, revision)
	return len(l.revisions)
}

// check compares the ledger with the objects of the server: each is at its revision, and a new object gets a higher
// one.
func (l *ledger) check(t *testing.T, client dynamic.Interface) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	regions := client.Resource(resources["Region"])
	list, err := regions.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]uint64{}
	for i := range list.Items {
		found[list.Items[i].GetName()] = revisionOf(&list.Items[i])
	}
	for name, revision := range l.revisions {
		if found[name] != revision {
			t.Errorf("%s was acknowledged at revision %d, and is now at %d", name, revision, found[name])
		}
	}
	next, err := regions.Create(t.Context(), region(fmt.Sprintf("after-%d", l.newest)), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if revisionOf(next) <= l.newest {
		t.Errorf("revision %d after %d", revisionOf(next), l.newest)
	}
}

// writeWhile starts several writers, ends the server while they write, and returns when all have failed.
func writeWhile(t *testing.T, client dynamic.Interface, l *ledger, round int, end func() error) {
	t.Helper()
	const writers, enough = 4, 60
	midway := make(chan struct{})
	var once sync.Once
	var running sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for writer := range writers {
		running.Go(func() { // ends with the first write that fails
			for i := 0; ; i++ {
				name := fmt.Sprintf("r%d-w%d-%d", round, writer, i)
				created, err := client.Resource(resources["Region"]).Create(ctx, region(name), metav1.CreateOptions{})
				if err != nil {
					return
				}
				if l.add(created) >= enough*(round+1) {
					once.Do(func() { close(midway) })
				}
			}
		})
	}
	select {
	case <-midway:
	case <-ctx.Done():
		t.Error("the writers stopped before the server")
	}
	if err := end(); err != nil {
		t.Errorf("end the server: %v", err)
	}
	running.Wait()
}

func region(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "infra.example.com/v1",
		"kind":       "Region",
		"metadata":   map[string]any{"name": name},
		"spec":       map[string]any{"location": name, "zones": []any{"a", "b"}},
	}}
}

func revisionOf(object *unstructured.Unstructured) uint64 {
	revision, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(err)
	}
	return revision
}
