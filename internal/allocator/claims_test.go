package allocator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// TestUnconfirmedService checks that the claims of a Service whose creation is in doubt stay exactly if it was stored.
func TestUnconfirmedService(t *testing.T) {
	t.Parallel()
	r := newReplica(t, nil).start()
	for name, test := range map[string]struct {
		commit func(cancel context.CancelFunc) func(context.Context, clientv3.Txn) (*clientv3.TxnResponse, error)
		stored bool
	}{
		"answer-lost": {func(context.CancelFunc) func(context.Context, clientv3.Txn) (*clientv3.TxnResponse, error) {
			return loseAnswer
		}, true},
		"request-lost": {func(context.CancelFunc) func(context.Context, clientv3.Txn) (*clientv3.TxnResponse, error) {
			return loseRequest
		}, false},
		"cancelled": {func(cancel context.CancelFunc) func(context.Context, clientv3.Txn) (*clientv3.TxnResponse, error) {
			return func(ctx context.Context, txn clientv3.Txn) (*clientv3.TxnResponse, error) {
				cancel()
				_, _ = loseAnswer(ctx, txn)
				return nil, ctx.Err()
			}
		}, true},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		mend := r.faults.fail("/services/specs/default/"+name, test.commit(cancel))
		service := r.newService(name, nil)
		if err := r.store(ctx, service, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
		mend()
		cancel()
		for _, c := range r.claimsOf(service) {
			if taken, err := c.isTaken(t.Context(), dynamicstorage.Consistent); err != nil || taken != test.stored {
				t.Errorf("%s: %s is taken: %t, %v", name, c.name, taken, err)
			}
		}
		if stored := slices.Contains(slices.Collect(maps.Values(r.needed())), name); stored != test.stored {
			t.Errorf("%s: is stored: %t", name, stored)
		}
	}
}

// TestLateService checks that a creation which etcd carries out after its claims were given back fails.
func TestLateService(t *testing.T) {
	t.Parallel()
	r := newReplica(t, nil).start()
	var late clientv3.Txn
	mend := r.faults.fail("/services/specs/", func(_ context.Context, txn clientv3.Txn) (*clientv3.TxnResponse, error) {
		late = txn
		return nil, errLost
	})
	if err := r.store(t.Context(), r.newService("late", nil), nil); !errors.Is(err, dynamicstorage.ErrUnconfirmed) {
		t.Fatal(err)
	}
	mend()
	if claimed := r.claimed(); len(claimed) != 0 {
		t.Errorf("claims %v", claimed)
	}
	if answer, err := late.Commit(); err != nil || answer.Succeeded {
		t.Errorf("the Service was stored without its claims: %v", err)
	}
	r.agrees()
}

// TestLateDeletion checks that what a Service had is free although etcd deletes the Service long after the answer was
// lost.
func TestLateDeletion(t *testing.T) {
	t.Parallel()
	r := newReplica(t, nil)
	r.grace = time.Second
	r.start()
	service := r.newService("late", nil)
	if err := r.store(t.Context(), service, nil); err != nil {
		t.Fatal(err)
	}
	var late clientv3.Txn
	mend := r.faults.fail("/services/specs/", func(_ context.Context, txn clientv3.Txn) (*clientv3.TxnResponse, error) {
		late = txn
		return nil, errLost
	})
	if err := r.remove(t.Context(), service); !errors.Is(err, dynamicstorage.ErrUnconfirmed) {
		t.Fatal(err)
	}
	mend()
	r.Release(t.Context(), service)
	if claimed := r.claimed(); len(claimed) != 2 {
		t.Errorf("claims %v", claimed)
	}
	if answer, err := late.Commit(); err != nil || !answer.Succeeded {
		t.Fatalf("the late deletion: %v", err)
	}
	r.agrees()
}

// TestUnconfirmedClaim checks that a claim that was created unnoticed is given back.
func TestUnconfirmedClaim(t *testing.T) {
	t.Parallel()
	r := newReplica(t, nil).start()
	for _, keys := range []string{"/ipaddresses/", "/" + PortsFolder + "/"} {
		mend := r.faults.fail(keys, func(ctx context.Context, txn clientv3.Txn) (*clientv3.TxnResponse, error) {
			r.faults.commit.Store(nil) // the first one only
			return loseAnswer(ctx, txn)
		})
		if err := r.store(t.Context(), r.newService("a", nil), nil); !errors.Is(err, dynamicstorage.ErrUnconfirmed) {
			t.Errorf("%s: %v", keys, err)
		}
		mend()
		if claimed := r.claimed(); len(claimed) != 0 {
			t.Errorf("%s: claims %v", keys, claimed)
		}
	}
}

// TestDoubtIsSettled checks that claims which cannot be decided, because etcd does not answer, are decided later.
func TestDoubtIsSettled(t *testing.T) {
	t.Parallel()
	r := newReplica(t, nil).start()
	service := r.newService("a", nil)
	held, err := r.Allocate(t.Context(), service, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	mend := r.faults.fail("", loseRequest)
	held.End(t.Context(), false)
	if claimed := r.claimed(); len(claimed) != 2 {
		t.Errorf("claims %v", claimed)
	}
	mend()
	r.agrees()
}

// TestUpdates checks that a Service keeps what it has, gives back what it gives up, and gets what it lacks.
func TestUpdates(t *testing.T) {
	t.Parallel()
	r := newReplica(t, nil).start()
	change := func(current *corev1.Service, change func(*corev1.ServiceSpec)) *corev1.Service {
		t.Helper()
		service := current.DeepCopy()
		change(&service.Spec)
		if err := r.store(t.Context(), service, current); err != nil {
			t.Fatal(err)
		}
		if claimed, needed := r.claimed(), r.needed(); !maps.Equal(claimed, needed) {
			t.Errorf("claims %v, want %v", claimed, needed)
		}
		return service
	}
	a := r.newService("a", nil)
	if err := r.store(t.Context(), a, nil); err != nil {
		t.Fatal(err)
	}
	b := change(a, func(spec *corev1.ServiceSpec) {
		spec.Ports = append(spec.Ports, corev1.ServicePort{Name: "b", Port: 81, Protocol: corev1.ProtocolTCP})
	})
	if ports := b.Spec.Ports; ports[0] != a.Spec.Ports[0] || ports[1].NodePort == 0 {
		t.Errorf("ports %+v", ports)
	}
	c := change(b, func(spec *corev1.ServiceSpec) {
		spec.Type = corev1.ServiceTypeClusterIP
		for n := range spec.Ports {
			spec.Ports[n].NodePort = 0
		}
	})
	if claimed := r.claimed(); len(claimed) != 1 || claimed[c.Spec.ClusterIP] != "a" {
		t.Errorf("claims %v", claimed)
	}
	r.Release(t.Context(), c) // it is not removed
	if claimed := r.claimed(); len(claimed) != 1 {
		t.Errorf("claims %v", claimed)
	}
	if err := r.remove(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	r.Release(t.Context(), c)
	if claimed := r.claimed(); len(claimed) != 0 {
		t.Errorf("claims %v", claimed)
	}
}

// TestManyPorts creates a Service with more node ports than etcd compares in a transaction.
func TestManyPorts(t *testing.T) {
	t.Parallel()
	r := newReplica(t, nil).start()
	const count = 200
	service := r.newService("many", func(spec *corev1.ServiceSpec) {
		spec.Ports = nil
		for n := range count {
			spec.Ports = append(spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", n), Port: int32(n + 1)})
		}
	})
	if err := r.store(t.Context(), service, nil); err != nil {
		t.Fatal(err)
	}
	if claimed := r.claimed(); len(claimed) != count+1 {
		t.Errorf("%d claims", len(claimed))
	}
}

// TestRefusals checks the errors of what cannot be taken, and that nothing stays taken.
func TestRefusals(t *testing.T) {
	t.Parallel()
	r := newReplica(t, smallRanges).start()
	a := r.newService("a", nil)
	if err := r.store(t.Context(), a, nil); err != nil {
		t.Fatal(err)
	}
	port := a.Spec.Ports[0].NodePort
	for want, change := range map[string]func(*corev1.ServiceSpec){
		"provided IP is already allocated":        func(s *corev1.ServiceSpec) { s.ClusterIP = a.Spec.ClusterIP },
		"does not match the current range":        func(s *corev1.ServiceSpec) { s.ClusterIP = "10.1.0.1" },
		"provided port is already allocated":      func(s *corev1.ServiceSpec) { s.Ports[0].NodePort = port },
		"The range of valid ports is 30000-30019": func(s *corev1.ServiceSpec) { s.Ports[0].NodePort = 30020 },
	} {
		if err := r.store(t.Context(), r.newService("b", change), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if claimed, needed := r.claimed(), r.needed(); !maps.Equal(claimed, needed) {
		t.Errorf("claims %v, want %v", claimed, needed)
	}
}
