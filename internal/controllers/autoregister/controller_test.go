package autoregister

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/scheme"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/apiregistration"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// etcd is shared by all tests of the package. Each test has its own prefix.
var etcd *etcdtest.Etcd

func TestMain(m *testing.M) { os.Exit(etcdtest.Main(m, &etcd)) }

var (
	core     = schema.GroupVersion{Version: "v1"}
	events   = schema.GroupVersion{Group: "events.k8s.io", Version: "v1"}
	itself   = apiregistrationv1.SchemeGroupVersion
	tables   = schema.GroupVersion{Group: "shop.example.com", Version: "v1"}
	lamps    = schema.GroupVersion{Group: "light.example.com", Version: "v1beta1"}
	builtins = []schema.GroupVersion{core, events, itself}
)

// cluster is an etcd with the groups and versions that CRDs add.
type cluster struct {
	t      *testing.T
	prefix string
	store  *dynamicstorage.Store // reads for the test
	kinds  *builtin.Set
	mu     sync.Mutex // guards served
	served sets.Set[schema.GroupVersion]
}

func newCluster(t *testing.T, served ...schema.GroupVersion) *cluster {
	t.Helper()
	kinds, err := builtin.NewSet([]*resource.Definition{apiregistration.Definition()})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, prefix: etcd.Prefix(t), kinds: kinds, served: sets.New(served...)}
	c.store = c.newStore()
	return c
}

func (c *cluster) newStore() *dynamicstorage.Store {
	c.t.Helper()
	store, err := dynamicstorage.New(dynamicstorage.Options{Client: etcd.Client, Prefix: c.prefix})
	if err != nil {
		c.t.Fatal(err)
	}
	etcdtest.Run(c.t, store.Run)
	return store
}

// replica runs a controller on a store of its own until the test ends.
func (c *cluster) replica(builtIn ...schema.GroupVersion) *Controller {
	c.t.Helper()
	ready := make(chan struct{})
	close(ready)
	controller := NewController(Config{
		Store: c.newStore(), Set: c.kinds, BuiltIn: builtIn, Served: c.all, Serves: c.serves, Ready: ready,
	})
	etcdtest.Run(c.t, func(ctx context.Context) error { controller.Run(ctx); return nil })
	return controller
}

func (c *cluster) all() []schema.GroupVersion {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.served.UnsortedList()
}

func (c *cluster) serves(version schema.GroupVersion) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.served.Has(version)
}

func (c *cluster) set(versions ...schema.GroupVersion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served = sets.New(versions...)
}

// put stores an APIService.
func (c *cluster) put(
	service *apiregistrationv1.APIService, encode func(*apiregistrationv1.APIService) ([]byte, error),
) {
	c.t.Helper()
	value, err := encode(service)
	if err != nil {
		c.t.Fatal(err)
	}
	key := c.prefix + "/" + apiregistration.Folder + "/" + service.Name
	if _, err := etcd.Client.Put(c.t.Context(), key, string(value)); err != nil {
		c.t.Fatal(err)
	}
}

// eventually waits until exactly these APIServices are stored, and returns them.
func (c *cluster) eventually(names ...string) map[string]*apiregistrationv1.APIService {
	c.t.Helper()
	slices.Sort(names)
	var stored map[string]*apiregistrationv1.APIService
	err := wait.PollUntilContextTimeout(c.t.Context(), 10*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			stored = c.stored(ctx)
			return slices.Equal(slices.Sorted(maps.Keys(stored)), names), nil
		})
	if err != nil {
		c.t.Fatalf("stored are %v, not %v: %v", slices.Sorted(maps.Keys(stored)), names, err)
	}
	return stored
}

// stored returns the APIServices by name. An APIService that was changed after its creation has a generation.
func (c *cluster) stored(ctx context.Context) map[string]*apiregistrationv1.APIService {
	c.t.Helper()
	snapshot, err := c.store.ResourceAt(apiregistration.Folder).Snapshot(ctx, dynamicstorage.ReadAt{})
	if err != nil {
		c.t.Fatal(err)
	}
	services := map[string]*apiregistrationv1.APIService{}
	for entry, err := range snapshot.Ascend(ctx, "", "") {
		if err != nil {
			c.t.Fatal(err)
		}
		obj, err := c.kinds.Codec(apiregistration.Definition()).Object(entry)
		if err != nil {
			c.t.Fatal(err)
		}
		service := obj.(*apiregistrationv1.APIService)
		service.ResourceVersion = ""
		service.Generation = entry.Revision - entry.CreateRevision()
		services[entry.Key] = service
	}
	return services
}

// TestController follows the APIServices from the start of a server until it is started again with fewer groups.
func TestController(t *testing.T) {
	t.Parallel()
	c := newCluster(t, tables)
	replica := c.replica(builtins...)
	stored := c.eventually("v1.", "v1.events.k8s.io", "v1.shop.example.com")
	for _, service := range stored {
		if service.UID == "" || service.CreationTimestamp.IsZero() ||
			service.Status.Conditions[0].LastTransitionTime.IsZero() {
			t.Errorf("%s is incomplete: %+v", service.Name, service)
		}
	}
	status := apiregistrationv1.APIServiceStatus{Conditions: []apiregistrationv1.APIServiceCondition{{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue,
		LastTransitionTime: stored["v1."].Status.Conditions[0].LastTransitionTime,
		Reason:             "Local", Message: "Local APIServices are always available",
	}}}
	wanted := &apiregistrationv1.APIService{
		TypeMeta: metav1.TypeMeta{Kind: "APIService", APIVersion: "apiregistration.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "v1.", UID: stored["v1."].UID, CreationTimestamp: stored["v1."].CreationTimestamp,
			Labels: map[string]string{"kube-aggregator.kubernetes.io/automanaged": "onstart"},
		},
		Spec:   apiregistrationv1.APIServiceSpec{Version: "v1", GroupPriorityMinimum: 18000, VersionPriority: 1},
		Status: status,
	}
	if diff := cmp.Diff(wanted, stored["v1."]); diff != "" {
		t.Errorf("built-in (-wanted +stored):\n%s", diff)
	}
	custom := stored["v1.shop.example.com"]
	spec := apiregistrationv1.APIServiceSpec{Group: "shop.example.com", Version: "v1", GroupPriorityMinimum: 1000,
		VersionPriority: 100}
	if diff := cmp.Diff(spec, custom.Spec); diff != "" || custom.Labels[managedLabel] != "true" {
		t.Errorf("custom has labels %v and a spec (-wanted +stored):\n%s", custom.Labels, diff)
	}

	c.set(lamps)
	replica.Changed(tables, lamps)
	c.eventually("v1.", "v1.events.k8s.io", "v1beta1.light.example.com")

	c.replica(core) // as after a start with fewer groups
	c.eventually("v1.", "v1beta1.light.example.com")
}

// TestInitial checks that there is one APIService for each listed group and version, however many resources it has.
func TestInitial(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	names := sets.New[string]()
	services := NewController(Config{Store: c.store, Set: c.kinds, BuiltIn: append(builtins, core, events)}).Initial()
	for _, service := range services {
		names.Insert(service.Name)
	}
	if want := sets.New("v1.", "v1.events.k8s.io"); !names.Equal(want) || len(services) != len(want) {
		t.Errorf("%d APIServices with the names %v, want %v", len(services), names, want)
	}
}

// TestControllerStart starts on an etcd that has APIServices.
func TestControllerStart(t *testing.T) {
	t.Parallel()
	c := newCluster(t, tables)
	foreign := newAPIService(lamps, customPriority, "")
	delete(foreign.Labels, managedLabel)
	c.put(foreign, encode)
	wrong := newAPIService(events, priority{1, 1}, managedAtStart)
	c.put(wrong, encodeProtobuf) // as kube-apiserver stores it
	c.put(newAPIService(schema.GroupVersion{Group: "apps", Version: "v1"},
		priorities[schema.GroupVersion{Group: "apps", Version: "v1"}], managedAtStart), encode)
	c.put(newAPIService(schema.GroupVersion{Group: "gone.example.com", Version: "v1"}, customPriority, managedAlways),
		encode)

	replica := c.replica(builtins...)
	stored := c.eventually("v1.", "v1.events.k8s.io", "v1.shop.example.com", "v1beta1.light.example.com")
	if priority := stored["v1.events.k8s.io"].Spec.GroupPriorityMinimum; priority != 17750 {
		t.Errorf("the priority of events.k8s.io stays %d", priority)
	}
	if len(stored["v1beta1.light.example.com"].Status.Conditions) > 0 {
		t.Error("an APIService without the label was changed")
	}

	// A server that starts later may have more built-in resources. Only its start removes them.
	late := newAPIService(schema.GroupVersion{Group: "batch", Version: "v1"}, priority{17400, 15}, managedAtStart)
	c.put(late, encode)
	c.set()
	replica.Changed(schema.GroupVersion{Group: "batch", Version: "v1"}, tables)
	c.eventually("v1.", "v1.batch", "v1.events.k8s.io", "v1beta1.light.example.com")
}

// encode encodes as this server does.
func encode(service *apiregistrationv1.APIService) ([]byte, error) {
	service.SetGroupVersionKind(apiregistrationv1.SchemeGroupVersion.WithKind("APIService"))
	return json.Marshal(service)
}

// encodeProtobuf encodes as kube-apiserver does.
func encodeProtobuf(service *apiregistrationv1.APIService) ([]byte, error) {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	return runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, apiregistrationv1.SchemeGroupVersion), service)
}

// TestManyChanges checks that each APIService is written once, although many CRDs share it and two replicas see all
// changes.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	replicas := []*Controller{c.replica(core), c.replica(core)}
	c.eventually("v1.")
	versions := make([]schema.GroupVersion, 20)
	names := []string{"v1."}
	for n := range versions {
		versions[n] = schema.GroupVersion{Group: fmt.Sprintf("g%d.example.com", n), Version: "v1"}
		names = append(names, nameOf(versions[n]))
	}
	c.set(versions...)
	for range 100 {
		for _, replica := range replicas {
			replica.Changed(versions...)
		}
	}
	stored := c.eventually(names...)
	for name, service := range stored {
		if service.Generation > 0 {
			t.Errorf("%s was written again", name)
		}
	}
}

// TestUnchanged checks that a server that starts again writes nothing.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	c := newCluster(t, tables)
	controller := NewController(Config{Store: c.store, Set: c.kinds, BuiltIn: builtins, Served: c.all, Serves: c.serves})
	for _, version := range []schema.GroupVersion{core, events, tables} {
		if err := controller.reconcile(t.Context(), nameOf(version)); err != nil {
			t.Fatal(err)
		}
	}
	if wrong, err := controller.wrong(t.Context()); err != nil || len(wrong) > 0 {
		t.Errorf("wrong are %v, %v", wrong, err)
	}
}
