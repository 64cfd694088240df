package quota

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// etcd is shared by all tests of the package. Each test has its own prefix.
var etcd *etcdtest.Etcd

func TestMain(m *testing.M) { os.Exit(etcdtest.Main(m, &etcd)) }

// fixture has quotas in a store. Their status is written directly into it.
type fixture struct {
	*dynamicstorage.Store
	admission  *Admission
	controller *Controller
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	store, err := dynamicstorage.New(dynamicstorage.Options{
		Client: etcd.Client, Prefix: etcd.Prefix(t), Header: crds.ReadHeader,
	})
	if err != nil {
		t.Fatal(err)
	}
	etcdtest.Run(t, store.Run)
	set, err := builtin.NewSet(builtin.Definitions(builtin.TierEssential))
	if err != nil {
		t.Fatal(err)
	}
	table := crds.NewTable(store.Resource(crds.GroupName, crds.Plural))
	a, c := New(Config{Store: store, Table: table, Set: set, Client: &rest.Config{}})
	f := &fixture{store, a, c}
	c.client, a.client = f, f
	return f
}

// put stores an object.
func (f *fixture) put(t testing.TB, folder, key string, obj any) {
	t.Helper()
	value, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	write := func(context.Context, *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		return dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}, nil
	}
	if _, err := f.ResourceAt(folder).Update(t.Context(), key, write, dynamicstorage.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// remove removes an object.
func (f *fixture) remove(t testing.TB, folder, key string) {
	t.Helper()
	write := func(context.Context, *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		return dynamicstorage.Change{Op: dynamicstorage.Delete}, nil
	}
	if _, err := f.ResourceAt(folder).Update(t.Context(), key, write, dynamicstorage.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) putMap(t testing.TB, namespace, name string) {
	t.Helper()
	f.put(t, "configmaps", namespace+"/"+name, &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	})
}

// putQuota stores a quota of config maps in the namespace x.
func (f *fixture) putQuota(t testing.TB, hard corev1.ResourceList, used corev1.ResourceList) {
	t.Helper()
	quota := &corev1.ResourceQuota{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "q"},
		Spec:       corev1.ResourceQuotaSpec{Hard: hard},
	}
	if used != nil {
		quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: used}
	}
	f.put(t, plural, "x/q", quota)
}

// attributes are those of a request that creates a config map.
func attributes(namespace string) admission.Attributes {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m"}}
	return admission.NewAttributesRecord(obj, nil, corev1.SchemeGroupVersion.WithKind("ConfigMap"), namespace, "m",
		corev1.SchemeGroupVersion.WithResource("configmaps"), "", admission.Create, &metav1.CreateOptions{}, false, nil)
}

// ResourceQuotas implements core.ResourceQuotasGetter.
func (f *fixture) ResourceQuotas(namespace string) core.ResourceQuotaInterface {
	return &directClient{resource: f.ResourceAt(plural)}
}

// directClient writes into the store.
type directClient struct {
	core.ResourceQuotaInterface
	resource *dynamicstorage.Resource
}

var errConflict = errors.New("conflict")

// UpdateStatus implements core.ResourceQuotaInterface.
func (c *directClient) UpdateStatus(
	ctx context.Context, quota *corev1.ResourceQuota, _ metav1.UpdateOptions,
) (*corev1.ResourceQuota, error) {
	value, err := json.Marshal(quota)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	write := func(_ context.Context, current *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		if current == nil || strconv.FormatInt(current.Revision, 10) != quota.ResourceVersion {
			return dynamicstorage.Change{}, errConflict
		}
		return dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}, nil
	}
	_, err = c.resource.Update(ctx, quota.Namespace+"/"+quota.Name, write, dynamicstorage.UpdateOptions{})
	if errors.Is(err, errConflict) {
		err = apierrors.NewConflict(schema.GroupResource{Resource: plural}, quota.Name, err)
	}
	return quota, err
}
