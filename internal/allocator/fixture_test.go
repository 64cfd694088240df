package allocator

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// etcd is shared by all tests of the package. Each test has its own prefix.
var etcd *etcdtest.Etcd

func TestMain(m *testing.M) { os.Exit(etcdtest.Main(m, &etcd)) }

// replica is one of the servers on the etcd, with what tests need of its store.
type replica struct {
	*Services
	t          *testing.T
	definition *resource.Definition
	codec      *builtin.Codec
	// decoded counts the Services that the allocator has decoded.
	decoded atomic.Int64
	// faults makes transactions fail.
	faults *faultyKV
}

// newReplica returns a replica that does not run. configure may be nil.
func newReplica(t *testing.T, configure func(*Config)) *replica {
	t.Helper()
	client := clientv3.NewCtxClient(context.Background())
	faults := &faultyKV{KV: etcd.Client.KV}
	client.KV, client.Watcher = faults, etcd.Client.Watcher
	store, err := dynamicstorage.New(dynamicstorage.Options{
		Client: client, Prefix: etcd.Prefix(t), Header: crds.ReadHeader,
	})
	if err != nil {
		t.Fatal(err)
	}
	etcdtest.Run(t, store.Run)
	set, err := builtin.NewSet(builtin.All())
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		Store: store, Set: set, Ranges: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}, NodePorts: DefaultNodePorts,
	}
	if configure != nil {
		configure(&config)
	}
	r := &replica{Services: New(config), t: t, faults: faults, definition: set.Find(servicesResource)}
	r.codec = set.Codec(r.definition)
	r.grace = 0
	r.services.decode = func(entry *dynamicstorage.Entry) (runtime.Object, error) {
		r.decoded.Add(1)
		return r.codec.Object(entry)
	}
	return r
}

// start runs the replica until the end of the test, and waits until it is ready.
func (r *replica) start() *replica {
	r.t.Helper()
	etcdtest.Run(r.t, func(ctx context.Context) error { r.Run(ctx); return nil })
	if err := r.ready(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// newService returns a Service of the type NodePort, with its defaults. change may be nil.
func (r *replica) newService(name string, change func(*corev1.ServiceSpec)) *corev1.Service {
	service := &corev1.Service{Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}},
	}}
	service.Namespace, service.Name = "default", name
	if change != nil {
		change(&service.Spec)
	}
	r.definition.Default(service)
	return service
}

// store stores a Service as the handler does. current is nil for a new one.
func (r *replica) store(ctx context.Context, service, current *corev1.Service) error {
	var old runtime.Object
	if current != nil {
		old = current
	}
	held, err := r.Allocate(ctx, service, old, false)
	if err != nil {
		return err
	}
	err = r.put(ctx, service, held.Conditions())
	held.End(context.WithoutCancel(ctx), err == nil)
	return err
}

// put stores a Service without the allocator.
func (r *replica) put(ctx context.Context, service *corev1.Service, conditions []dynamicstorage.Condition) error {
	value, _, err := r.codec.Encode(ctx, service)
	if err != nil {
		return err
	}
	_, err = r.services.entries.Update(ctx, "default/"+service.Name,
		func(context.Context, *dynamicstorage.Entry) (dynamicstorage.Change, error) {
			return dynamicstorage.Change{Op: dynamicstorage.Put, Value: value, If: conditions}, nil
		}, dynamicstorage.UpdateOptions{})
	return err
}

// remove deletes a Service without the allocator.
func (r *replica) remove(ctx context.Context, service *corev1.Service) error {
	_, err := r.services.entries.Update(ctx, "default/"+service.Name,
		func(_ context.Context, current *dynamicstorage.Entry) (dynamicstorage.Change, error) {
			return dynamicstorage.Change{Op: dynamicstorage.Delete}, nil
		}, dynamicstorage.UpdateOptions{})
	return err
}

// claimed returns the names of the stored claims, with their Services.
func (r *replica) claimed() map[string]string {
	r.t.Helper()
	held, names := map[item]owner{}, map[string]string{}
	for _, c := range []*claims{r.addresses, r.ports} {
		if err := c.addTo(r.t.Context(), held); err != nil {
			r.t.Fatal(err)
		}
	}
	for i, o := range held {
		names[i.name] = o.Name
	}
	return names
}

// needed returns the names of what the stored Services have, with the Services. It fails the test if two have the same.
func (r *replica) needed() map[string]string {
	r.t.Helper()
	names := map[string]string{}
	if err := r.services.each(r.t.Context(), func(service *corev1.Service) {
		for _, c := range r.claimsOf(service) {
			if other, taken := names[c.name]; taken {
				r.t.Errorf("%s and %s have %s", other, service.Name, c.name)
			}
			names[c.name] = service.Name
		}
	}); err != nil {
		r.t.Fatal(err)
	}
	return names
}

// agrees waits until the claims are those that the stored Services need.
func (r *replica) agrees() {
	r.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		claimed, needed := fmt.Sprint(r.claimed()), fmt.Sprint(r.needed())
		if claimed == needed || r.t.Failed() {
			return
		}
		r.t.Logf("claims %s, want %s", claimed, needed)
		<-tick.C
	}
}

// smallRanges leaves fewer addresses and ports than the tests have Services.
func smallRanges(c *Config) {
	c.Ranges = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/27")}
	c.NodePorts = utilnet.PortRange{Base: 30000, Size: 20}
}
