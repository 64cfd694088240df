package schemas

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/validation"
)

// limited returns a CRD whose objects may have a size of at most max. It has many more fields.
func limited(name string, max int) *apiextensionsv1.CustomResourceDefinition {
	properties := map[string]apiextensionsv1.JSONSchemaProps{"size": {
		Type: "integer",
		XValidations: apiextensionsv1.ValidationRules{{Rule: fmt.Sprintf("self <= %d", max),
			Message: fmt.Sprintf("more than %d", max)}},
	}}
	const fields = 300
	for n := range fields {
		properties[fmt.Sprintf("field%d", n)] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	}
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: name, Singular: name, Kind: "Gadget",
		ListKind: "GadgetList"}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: name + ".example.com", UID: "gadgets"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: names, Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type:       "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object", Properties: properties}},
				}},
			}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: names, StoredVersions: []string{"v1"}},
	}
}

func limitedRecord(t *testing.T, name string, max int) *crds.Record {
	t.Helper()
	internal, err := crds.FromV1(limited(name, max))
	if err != nil {
		t.Fatal(err)
	}
	value, err := crds.EncodeDefinition(internal)
	if err != nil {
		t.Fatal(err)
	}
	record, err := crds.NewRecord(&dynamicstorage.Entry{Key: internal.Name, Revision: 1, Value: value})
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// compiling counts compilations, and panics if two run at the same time.
type compiling struct {
	now   atomic.Int32
	times atomic.Int64
}

func (c *compiling) counted(compile func() (*Compiled, error)) func() (*Compiled, error) {
	return func() (*Compiled, error) {
		if c.now.Add(1) > 1 {
			panic("compiled twice at a time")
		}
		defer c.now.Add(-1)
		c.times.Add(1)
		return compile()
	}
}

// TestSchemaCache uses more CRDs concurrently than fit into the cache, and checks the memory and the results of
// validation.
func TestSchemaCache(t *testing.T) {
	const (
		count  = 40
		limit  = 4 << 20
		users  = 8
		rounds = 20
	)
	converters, err := conversion.NewFactory(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	cache := NewCache(limit)
	slots, counts := make([]*Cached, count), make([]compiling, count)
	for n := range slots {
		record := limitedRecord(t, fmt.Sprintf("gadgets%d", n), n)
		slots[n] = cache.Add(counts[n].counted(func() (*Compiled, error) { return Compile(converters, record) }))
	}
	before := liveBytes()
	var group sync.WaitGroup
	for range users {
		group.Go(func() {
			for range rounds {
				n := rand.IntN(count)
				useLimited(t, slots[n], n)
				cache.mu.Lock()
				if cache.bytes > 2*limit {
					t.Errorf("%d bytes are held, the limit is %d", cache.bytes, limit)
				}
				cache.mu.Unlock()
			}
		})
	}
	group.Wait()
	compiled := int64(0)
	for n := range counts {
		compiled += counts[n].times.Load()
	}
	if compiled < 2*count {
		t.Errorf("%d CRDs were compiled %d times: nothing was evicted", count, compiled)
	}
	if grown := liveBytes() - before; grown > 3*limit {
		t.Errorf("the heap grew by %d bytes, the limit is %d", grown, limit)
	}
	for _, slot := range slots {
		slot.Retire()
	}
	if cache.bytes != 0 || cache.lru.Len() != 0 {
		t.Errorf("%d bytes, %d slots are left", cache.bytes, cache.lru.Len())
	}
	runtime.KeepAlive(slots)
}

// useLimited validates an object of the maximal size, and one that is too large.
func useLimited(t *testing.T, slot *Cached, max int) {
	defer slot.UpdateSize()
	for size, want := range map[int64]int{int64(max): 0, int64(max) + 1: 1} {
		compiled, err := slot.Get()
		if err != nil {
			t.Error(err)
			return
		}
		version, err := compiled.Version("v1")
		if err != nil {
			t.Error(err)
			return
		}
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": size, "unknown": "x"}}}
		obj.SetAPIVersion(compiled.Definition.Spec.Group + "/v1")
		obj.SetKind(compiled.Definition.Spec.Names.Kind)
		obj.SetName("a")
		obj.SetNamespace(metav1.NamespaceDefault)
		if _, err := compiled.Set.Coerce(obj.Object, validation.CoerceOptions{}); err != nil {
			t.Error(err)
		}
		if _, found, _ := unstructured.NestedString(obj.Object, "spec", "unknown"); found {
			t.Error("an unknown field was not pruned")
		}
		if errs := version.ValidateCreate(context.Background(), obj); len(errs) != want {
			t.Errorf("size %d of at most %d: %v", size, max, errs)
		}
	}
}

func liveBytes() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
