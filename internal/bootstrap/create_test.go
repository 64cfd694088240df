package bootstrap

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/controllers/namespaces"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// etcd is shared by all tests of the package. Each test has its own prefix.
var etcd *etcdtest.Etcd

func TestMain(m *testing.M) { os.Exit(etcdtest.Main(m, &etcd)) }

// fixture is a store with the built-in resources.
type fixture struct {
	*testing.T
	store *dynamicstorage.Store
	set   *builtin.Set
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	store, err := dynamicstorage.New(dynamicstorage.Options{
		Client: etcd.Client, Prefix: etcd.Prefix(t), Header: crds.ReadHeader,
	})
	if err != nil {
		t.Fatal(err)
	}
	etcdtest.Run(t, store.Run)
	set, err := builtin.NewSet(builtin.Essential())
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{t, store, set}
}

// system returns the system namespaces and a ConfigMap.
func (f *fixture) system() []Object {
	definition := f.set.Find(schema.GroupResource{Resource: "namespaces"})
	var objects []Object
	for _, namespace := range namespaces.System() {
		objects = append(objects, Object{Definition: definition, Object: namespace, Fields: namespaces.SystemFields})
	}
	return append(objects, Object{
		Definition: f.set.Find(schema.GroupResource{Resource: "configmaps"}),
		Object:     &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-public", Name: "info"}},
	})
}

func (f *fixture) create(objects ...Object) error {
	f.Helper()
	return Create(f.Context(), f.store, f.set, objects)
}

// namespace returns a stored namespace.
func (f *fixture) namespace(name string) *corev1.Namespace {
	f.Helper()
	definition := f.set.Find(schema.GroupResource{Resource: "namespaces"})
	at := dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}
	entry, _, err := f.store.ResourceAt(definition.StorageFolder()).Get(f.Context(), name, at)
	if err != nil {
		f.Fatal(err)
	}
	codec := f.set.Codec(definition)
	view, err := codec.StoredView(entry)
	if err != nil {
		f.Fatal(err)
	}
	obj, err := codec.Decode(view, entry.Revision)
	if err != nil {
		f.Fatal(err)
	}
	return obj.(*corev1.Namespace)
}

// TestCreate checks that a stored object is what a client would have created, that all are created together, and that a
// second call changes nothing.
func TestCreate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.create(f.system()...); err != nil {
		t.Fatal(err)
	}
	revision := f.namespace("default").ResourceVersion
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		namespace := f.namespace(name)
		if namespace.UID == "" || namespace.CreationTimestamp.IsZero() || namespace.Status.Phase != corev1.NamespaceActive ||
			len(namespace.Spec.Finalizers) != 1 || namespace.Labels[corev1.LabelMetadataName] != name {
			t.Errorf("stored is %+v", namespace)
		}
		if namespace.ResourceVersion != revision {
			t.Errorf("%s was created at revision %s, and another at %s", name, namespace.ResourceVersion, revision)
		}
	}
	before := f.namespace("default")
	if err := f.create(f.system()...); err != nil {
		t.Fatal(err)
	}
	if after := f.namespace("default"); after.UID != before.UID || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the second call has changed %+v to %+v", before, after)
	}
}

// TestInvalid checks that an object that its rules refuse is not stored.
func TestInvalid(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	invalid := f.system()[:1]
	invalid[0].Object = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "In_valid"}}
	if err := f.create(invalid...); err == nil || !strings.Contains(err.Error(), "In_valid") {
		t.Errorf("error %v", err)
	}
}
