package allocator

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestReconcile checks that a server which starts gives the stored Services the claims that they lack, and removes
// those that no Service has.
func TestReconcile(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newReplica(t, nil)
	named := func(name, ip string, port int32) *corev1.Service {
		return r.newService(name, func(spec *corev1.ServiceSpec) {
			spec.ClusterIP, spec.ClusterIPs, spec.Ports[0].NodePort = ip, []string{ip}, port
		})
	}
	complete, lacking, robbed := named("complete", "10.0.0.1", 30001), named("lacking", "10.0.0.2", 30002),
		named("robbed", "10.0.0.3", 30003)
	old := named("old", "10.0.0.4", 30004) // by a server that knew one address only
	old.Spec.ClusterIPs = nil
	for _, service := range []*corev1.Service{complete, lacking, robbed, old} {
		if err := r.put(ctx, service, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, service := range []*corev1.Service{
		complete,
		named("never", "10.0.0.3", 30003), // was never stored, and has what robbed needs
		named("gone", "10.0.0.5", 30005),
		named("complete", "10.0.0.6", 30006), // it has others
	} {
		for _, c := range r.claimsOf(service) {
			if _, err := c.take(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.start()
	claimed := r.claimed()
	for name, service := range r.needed() {
		if claimed[name] != service {
			t.Errorf("%s is of %q, want %q", name, claimed[name], service)
		}
	}
	r.agrees()
	if needed := r.needed(); len(needed) != 8 {
		t.Errorf("the Services have %v", needed)
	}
}

// TestReconcileWaits checks that a claim whose Service is not stored yet stays for a while when another server starts.
func TestReconcileWaits(t *testing.T) {
	t.Parallel()
	r := newReplica(t, nil).start()
	service := r.newService("a", nil)
	held, err := r.Allocate(t.Context(), service, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	other := newReplica(t, nil)
	other.grace = 1 << 40
	other.start()
	if err := r.put(t.Context(), service, held.Conditions()); err != nil {
		t.Fatal(err)
	}
	held.End(t.Context(), true)
	if claimed, needed := other.claimed(), other.needed(); len(claimed) != 2 || !maps.Equal(claimed, needed) {
		t.Errorf("claims %v, want %v", claimed, needed)
	}
}

// TestReplicas creates and deletes Services by two servers that have too few addresses and ports for all of them, while
// requests are cancelled and others reconcile.
func TestReplicas(t *testing.T) {
	t.Parallel()
	replicas := []*replica{newReplica(t, smallRanges).start(), newReplica(t, smallRanges).start()}
	var writers, reconcilers sync.WaitGroup
	var created atomic.Int64
	done := make(chan struct{})
	for n := range 12 {
		r := replicas[n%len(replicas)]
		writers.Go(func() {
			for round := range 15 {
				ctx, cancel := context.WithCancel(t.Context())
				if rand.IntN(4) == 0 {
					go cancel() // at any moment of the write
				}
				service := r.newService(fmt.Sprintf("s%d-%d", n, round), nil)
				err := r.store(ctx, service, nil)
				cancel()
				if err != nil {
					continue
				}
				created.Add(1)
				if round%3 != 0 {
					if err := r.remove(t.Context(), service); err != nil {
						t.Error(err)
					}
					r.Release(t.Context(), service)
				}
			}
		})
	}
	reconcilers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := replicas[0].reconcile(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	writers.Wait()
	close(done)
	reconcilers.Wait()
	if created.Load() == 0 {
		t.Error("no Service was created")
	}
	replicas[1].needed() // checks that no two have the same
	if err := replicas[0].reconcile(t.Context()); err != nil {
		t.Error(err)
	}
	replicas[1].agrees()
}

// TestDecodedServices checks that a new node port decodes no other Service.
func TestDecodedServices(t *testing.T) {
	t.Parallel()
	r := newReplica(t, nil).start()
	for n := range 40 {
		if err := r.store(t.Context(), r.newService(fmt.Sprint("s", n), nil), nil); err != nil {
			t.Fatal(err)
		}
	}
	if decoded := r.decoded.Load(); decoded != 0 {
		t.Errorf("%d Services were decoded to create 40", decoded)
	}
	if claimed, needed := r.claimed(), r.needed(); len(claimed) != 80 || !maps.Equal(claimed, needed) {
		t.Errorf("claims %v, want %v", claimed, needed)
	}
}
