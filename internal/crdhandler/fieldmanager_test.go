package crdhandler

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// twoVersions is machineCRD with extras and a second version, v2, of the same schema.
func twoVersions(t testing.TB) string {
	t.Helper()
	definition := map[string]any{}
	if err := json.Unmarshal([]byte(machineCRD), &definition); err != nil {
		t.Fatal(err)
	}
	spec := definition["spec"].(map[string]any)
	more := map[string]any{}
	if err := json.Unmarshal([]byte(extras), &more); err != nil {
		t.Fatal(err)
	}
	properties := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "extras"}
	if err := unstructured.SetNestedMap(spec["versions"].([]any)[0].(map[string]any), more, properties...); err != nil {
		t.Fatal(err)
	}
	second := runtime.DeepCopyJSON(spec["versions"].([]any)[0].(map[string]any))
	second["name"], second["storage"] = "v2", false
	spec["versions"] = append(spec["versions"].([]any), second)
	text, err := json.Marshal(definition)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// choices makes decisions of the bytes that a fuzzer has invented; when they are used up it decides for the first of all.
type choices []byte

func (c *choices) of(n int) int {
	if len(*c) == 0 {
		return 0
	}
	first := int((*c)[0])
	*c = (*c)[1:]
	return first % n
}

func pick[T any](c *choices, from ...T) T { return from[c.of(len(from))] }

// managers are a field manager of ours and that of the library, both of which are to do the same.
type managers struct {
	ours    fieldManager
	library *managedfields.FieldManager
}

func newManagers(t testing.TB, scope *requestScope, info *crdInfo, reset resetFields) managers {
	t.Helper()
	compiled, err := info.compiled()
	if err != nil {
		t.Fatal(err)
	}
	types, err := compiled.schemas.TypeConverter()
	if err != nil {
		t.Fatal(err)
	}
	var m managers
	m.ours, err = newCustomResourceFieldManager(fieldManagerParts{
		types: types, objects: scope.objects, kind: scope.kind, hub: scope.hub, subresource: scope.subresource, reset: reset,
	})
	if err != nil {
		t.Fatal(err)
	}
	m.library, err = managedfields.NewDefaultCRDFieldManager(types, scope.objects.convertor, scope.objects.defaulter, scope.objects.creater,
		scope.kind, scope.hub, scope.subresource, fieldpath.NewExcludeFilterSetMap(reset))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// step is one write of a history, given the object as it is before it; nil as long as there is none.
func (m managers) step(t *testing.T, c *choices, live *unstructured.Unstructured) *unstructured.Unstructured {
	if c.of(2) == 0 {
		return m.update(t, c, live)
	}
	return m.apply(t, c, live)
}

func (m managers) update(t *testing.T, c *choices, live *unstructured.Unstructured) *unstructured.Unstructured {
	obj := invented(t, c, true)
	if live != nil && c.of(4) > 0 {
		obj = live.DeepCopy()
		for range c.of(4) {
			edit(c, obj.Object)
		}
		if c.of(4) == 0 {
			spoil(c, obj)
		}
	} else if live == nil {
		live = &unstructured.Unstructured{Object: map[string]any{"apiVersion": obj.GetAPIVersion(), "kind": obj.GetKind()}}
	} else if c.of(3) > 0 {
		obj.Object["metadata"] = live.DeepCopy().Object["metadata"]
		spoil(c, obj)
	}
	return m.updateTo(t, live, obj, pick(c, "one", "two", "kubectl", "", fmt.Sprint("many", c.of(20))))
}

// updateTo updates an object by both.
func (m managers) updateTo(t *testing.T, live, obj *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	ours, theirs, before := live.DeepCopy(), live.DeepCopy(), live.DeepCopy()
	got, err := m.ours.Update(t.Context(), ours, obj.DeepCopy(), manager)
	if err != nil {
		t.Fatal(err)
	}
	want := m.library.UpdateNoErrors(theirs, obj.DeepCopy(), manager)
	unmodified(t, "live", ours, before)
	return same(t, got, want)
}

func (m managers) apply(t *testing.T, c *choices, live *unstructured.Unstructured) *unstructured.Unstructured {
	applied := invented(t, c, c.of(4) == 0)
	if live == nil {
		live = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Machine"}}
		for range c.of(4) {
			edit(c, applied.Object)
		}
		if c.of(8) == 0 {
			delete(applied.Object, "metadata")
		}
	}
	return m.applyConfig(t, live, applied, pick(c, "one", "two", "kubectl"), c.of(2) == 0)
}

// applyConfig applies a configuration by both.
func (m managers) applyConfig(
	t *testing.T, live, applied *unstructured.Unstructured, manager string, force bool,
) *unstructured.Unstructured {
	ours, before := live.DeepCopy(), live.DeepCopy()
	got, err := m.ours.Apply(t.Context(), ours, applied.DeepCopy(), manager, force)
	want, wantErr := m.library.Apply(live.DeepCopy(), applied.DeepCopy(), manager, force)
	unmodified(t, "live", ours, before)
	if (err == nil) != (wantErr == nil) || err != nil && !sameError(err, wantErr) {
		t.Fatalf("got error %v\nwant %v", err, wantErr)
	}
	if err != nil {
		if live.GetUID() == "" {
			return nil
		}
		return live
	}
	return same(t, got, want)
}

// sameError compares errors as clients see them. The library lists conflicts in no order, and what is wrong with an object up to
// the first field that is not declared.
func sameError(a, b error) bool {
	const undeclared = "field not declared in schema"
	if strings.Contains(a.Error(), undeclared) && strings.Contains(b.Error(), undeclared) {
		return true
	}
	letters := func(err error) (counts [256]int) {
		text, _ := json.Marshal(err)
		for _, letter := range append(text, err.Error()...) {
			counts[letter]++
		}
		return counts
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && letters(a) == letters(b)
}

func unmodified(t *testing.T, what string, obj, before *unstructured.Unstructured) {
	t.Helper()
	if !reflect.DeepEqual(obj, before) {
		t.Fatalf("%s was modified: %v\nit was %v", what, obj, before)
	}
}

func same(t *testing.T, got, want runtime.Object) *unstructured.Unstructured {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %v\nwant %v", got, want)
	}
	obj := want.(*unstructured.Unstructured)
	obj.SetUID("uid") // from now on it exists
	return obj
}

// invented returns some machine, complete or as one might apply it.
func invented(t *testing.T, c *choices, complete bool) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal([]byte(machine("m", c.of(4))), &obj.Object); err != nil {
		t.Fatal(err)
	}
	spec := obj.Object["spec"].(map[string]any)
	spec["parts"] = spec["parts"].([]any)[c.of(3) : 3+c.of(5)]
	if !complete {
		delete(spec, pick(c, "replicas", "maxReplicas", "parts"))
		delete(obj.Object["metadata"].(map[string]any), "labels")
	}
	switch c.of(8) {
	case 1:
		obj.SetFinalizers([]string{"example.com/" + pick(c, "a", "b")})
	case 2:
		obj.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": machine("m", c.of(4))})
	case 3:
		obj.Object["status"] = map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "A<&>", "status": "True"}}}
	case 4:
		obj.SetAPIVersion("example.com/" + pick(c, "v1", "v2", "v3"))
	case 5:
		spec["parts"] = []any{map[string]any{"name": "a"}, map[string]any{"name": "a"}} // twice the same key
	case 6:
		spec["replicas"] = "many" // not of the type
	case 7:
		obj.SetOwnerReferences(nil)
		spec["unknown"] = map[string]any{"a": int64(1)}
	}
	return obj
}

// spoil makes of the managed fields of an object what a client may send.
func spoil(c *choices, obj *unstructured.Unstructured) {
	metadata := obj.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	switch c.of(12) {
	case 1:
		delete(metadata, "managedFields")
	case 2:
		metadata["managedFields"] = []any{}
	case 3:
		metadata["managedFields"] = []any{map[string]any{}}
	case 4:
		metadata["managedFields"] = pick[any](c, nil, "text", []any{"text"}, []any{nil}, map[string]any{})
	case 5:
		if len(entries) == 0 {
			return
		}
		entry := entries[c.of(len(entries))].(map[string]any)
		name := pick(c, "manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource", "other")
		entry[name] = pick[any](c, nil, "", "text", int64(1), map[string]any{}, "Apply", "example.com/v2", "2026-01-01T00:00:00+01:00",
			"0001-01-01T00:00:00Z", map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}}, map[string]any{"x": int64(1)})
	case 6:
		if len(entries) > 0 {
			metadata["managedFields"] = entries[1:]
		}
	}
}

// FuzzFieldManager writes histories of an object twice, by our field manager and by the library's: the objects, their
// managed fields and the conflicts must be the same, and what is live must be left alone.
func FuzzFieldManager(f *testing.F) {
	all := allManagers(f)
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		f.Add(randomSeed(random))
	}
	f.Fuzz(func(t *testing.T, seed []byte) {
		synctest.Test(t, func(t *testing.T) {
			c := choices(seed)
			var live *unstructured.Unstructured
			for len(c) > 0 {
				m := all[0]
				if live != nil {
					m = pick(&c, all[0], all[0], all[1], all[2])
				}
				live = m.step(t, &c, live)
				time.Sleep(time.Duration(c.of(3)) * 700 * time.Millisecond) // times count in seconds
			}
		})
	})
}

func randomSeed(random *rand.Rand) []byte {
	seed := make([]byte, 60)
	for i := range seed {
		seed[i] = byte(random.Uint32())
	}
	return seed
}

// allManagers are those of v1, of its status, and of v2.
func allManagers(f testing.TB) []managers {
	f.Helper()
	info := infoOf(f, &Config{Store: newStore(f, dynamicstorage.Options{Client: etcdOf(f)})}, twoVersions(f))
	reset := func(get func() (resetFields, error)) resetFields {
		fields, err := get()
		if err != nil {
			f.Fatal(err)
		}
		return fields
	}
	v1 := info.versions["v1"]
	v2 := info.versions["v2"]
	version, err := info.version("v1")
	if err != nil {
		f.Fatal(err)
	}
	statusReset := reset(func() (resetFields, error) { return statusResetFields(info) })
	return []managers{
		newManagers(f, v1.main, info, version.ResetFields()), newManagers(f, v1.status, info, statusReset),
		newManagers(f, v2.main, info, version.ResetFields()),
	}
}
