package apiservices

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	clienttesting "k8s.io/client-go/testing"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"
)

var (
	tables = schema.GroupVersion{Group: "shop.example.com", Version: "v1"}
	chairs = schema.GroupVersion{Group: "shop.example.com", Version: "v2beta1"}
	lamps  = schema.GroupVersion{Group: "light.example.com", Version: "v1"}
)

// served has the versions that a replica serves. late are versions that another replica serves already.
type served struct {
	mu   sync.Mutex // guards the fields below
	now  map[schema.GroupVersion]bool
	late map[schema.GroupVersion]bool
}

func (s *served) set(versions ...schema.GroupVersion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = map[schema.GroupVersion]bool{}
	for _, version := range versions {
		s.now[version] = true
	}
}

func (s *served) serves(version schema.GroupVersion) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now[version]
}

func (s *served) all() []schema.GroupVersion {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.now))
}

func (s *served) current(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.now, s.late)
	return nil
}

// host is a host cluster.
type host struct {
	*fake.Clientset
}

func newHost(services ...*apiregistrationv1.APIService) host {
	var objects []runtime.Object
	for _, service := range services {
		objects = append(objects, service)
	}
	return host{fake.NewClientset(objects...)}
}

// run runs a registrar until the test ends.
func (h host) run(t *testing.T, s *served) *Registrar {
	t.Helper()
	r := NewRegistrar(Config{
		Client:   h.Clientset,
		Service:  apiregistrationv1.ServiceReference{Namespace: "crds", Name: "crd-server"},
		CABundle: func() []byte { return []byte("authority") },
		Served:   s.all,
		Serves:   s.serves,
		Current:  s.current,
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.Run(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return r
}

// eventually waits until the host has exactly these APIServices.
func (h host) eventually(t *testing.T, versions ...schema.GroupVersion) {
	t.Helper()
	var wanted, names []string
	for _, version := range versions {
		wanted = append(wanted, nameOf(version))
	}
	slices.Sort(wanted)
	err := wait.PollUntilContextCancel(t.Context(), 5*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		list, err := h.ApiregistrationV1().APIServices().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		names = nil
		for n := range list.Items {
			names = append(names, list.Items[n].Name)
		}
		slices.Sort(names)
		return slices.Equal(names, wanted), nil
	})
	if err != nil {
		t.Fatalf("the host has %q, wanted are %q: %v", names, wanted, err)
	}
}

func (h host) get(t *testing.T, version schema.GroupVersion) *apiregistrationv1.APIService {
	t.Helper()
	found, err := h.ApiregistrationV1().APIServices().Get(t.Context(), nameOf(version), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestServedVersionsAreRegistered(t *testing.T) {
	h, s := newHost(), &served{}
	s.set(tables)
	r := h.run(t, s)
	h.eventually(t, tables)
	spec := h.get(t, tables).Spec
	if spec.Group != tables.Group || spec.Version != tables.Version || string(spec.CABundle) != "authority" ||
		spec.Service == nil || spec.Service.Namespace != "crds" || spec.Service.Name != "crd-server" ||
		spec.GroupPriorityMinimum != 1000 || spec.VersionPriority != 100 || spec.InsecureSkipTLSVerify {
		t.Errorf("the registered APIService is %+v", spec)
	}

	s.set(tables, chairs, lamps)
	r.Changed(chairs, lamps)
	h.eventually(t, tables, chairs, lamps)

	s.set(lamps)
	r.Changed(tables, chairs)
	h.eventually(t, lamps)
}

func TestOldVersionsAreRemovedAtStart(t *testing.T) {
	h, s := newHost(), &served{}
	old := NewRegistrar(Config{
		Service:  apiregistrationv1.ServiceReference{Namespace: "crds", Name: "crd-server"},
		CABundle: func() []byte { return nil },
	}).wanted(tables)
	if _, err := h.ApiregistrationV1().APIServices().Create(t.Context(), old, createOptions); err != nil {
		t.Fatal(err)
	}
	s.set(lamps)
	h.run(t, s)
	h.eventually(t, lamps)
}

func TestForeignAPIServicesAreKept(t *testing.T) {
	foreign := func(version schema.GroupVersion, labels map[string]string) *apiregistrationv1.APIService {
		return &apiregistrationv1.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: nameOf(version), Labels: labels},
			Spec:       apiregistrationv1.APIServiceSpec{Group: version.Group, Version: version.Version},
		}
	}
	h := newHost(
		foreign(tables, map[string]string{"kube-aggregator.kubernetes.io/automanaged": "true"}),
		foreign(chairs, map[string]string{labelManagedBy: managedBy, labelInstance: "crds.another"}),
	)
	s := &served{}
	s.set(tables, lamps)
	r := h.run(t, s)
	h.eventually(t, tables, chairs, lamps)
	if service := h.get(t, tables).Spec.Service; service != nil {
		t.Errorf("a foreign APIService was changed: %v", service)
	}
	s.set()
	r.Changed(tables, chairs, lamps)
	h.eventually(t, tables, chairs)

	// The name is free after its deletion.
	s.set(tables)
	if err := h.ApiregistrationV1().APIServices().Delete(t.Context(), nameOf(tables), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.eventually(t, tables, chairs)
	if service := h.get(t, tables).Spec.Service; service == nil {
		t.Error("the free name was not registered")
	}
}

func TestChangedAPIServicesAreRepaired(t *testing.T) {
	h, s := newHost(), &served{}
	s.set(tables)
	h.run(t, s)
	h.eventually(t, tables)
	changed := h.get(t, tables)
	changed.Spec.InsecureSkipTLSVerify, changed.Spec.CABundle = true, nil
	changed.Annotations = map[string]string{"note": "kept"}
	if _, err := h.ApiregistrationV1().APIServices().Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	err := wait.PollUntilContextCancel(t.Context(), 5*time.Millisecond, true, func(context.Context) (bool, error) {
		found := h.get(t, tables)
		return !found.Spec.InsecureSkipTLSVerify && string(found.Spec.CABundle) == "authority" &&
			found.Annotations["note"] == "kept", nil
	})
	if err != nil {
		t.Errorf("it was not repaired: %+v", h.get(t, tables))
	}
}

// TestLateReplicaDeletesNothing checks that a replica that has not seen a CRD yet keeps the APIService that another
// replica has created for it.
func TestLateReplicaDeletesNothing(t *testing.T) {
	h, first, late := newHost(), &served{}, &served{late: map[schema.GroupVersion]bool{tables: true}}
	h.PrependReactor("delete", "apiservices", func(clienttesting.Action) (bool, runtime.Object, error) {
		t.Error("an APIService that is needed was deleted")
		return false, nil, nil
	})
	first.set(tables)
	h.run(t, first)
	h.eventually(t, tables)
	late.set()
	r := h.run(t, late)
	err := wait.PollUntilContextCancel(t.Context(), 5*time.Millisecond, true, func(context.Context) (bool, error) {
		return late.serves(tables) && r.queue.Len() == 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.eventually(t, tables)
}

func TestFailedWritesAreRetried(t *testing.T) {
	h, s := newHost(), &served{}
	failures := 3
	h.PrependReactor("create", "apiservices", func(clienttesting.Action) (bool, runtime.Object, error) {
		if failures--; failures >= 0 {
			return true, nil, apierrors.NewInternalError(errors.New("the host cluster is away"))
		}
		return false, nil, nil
	})
	s.set(tables)
	h.run(t, s)
	h.eventually(t, tables)
}
