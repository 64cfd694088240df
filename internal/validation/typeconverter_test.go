package validation

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// upstreamModels returns the OpenAPI models that upstream builds for applying objects of a CRD.
func upstreamModels(t testing.TB, crd *apiextensionsv1.CustomResourceDefinition) map[string]*spec.Schema {
	t.Helper()
	var specs []*spec3.OpenAPI
	for _, v := range crd.Spec.Versions {
		s, err := builder.BuildOpenAPIV3(crd, v.Name, builder.Options{})
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, s)
	}
	merged, err := builder.MergeSpecsV3(specs...)
	if err != nil {
		t.Fatal(err)
	}
	return merged.Components.Schemas
}

// TestTypesAgainstUpstream tests that every type that we build is one of upstream's, with the same name and content.
func TestTypesAgainstUpstream(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"widgets", "relics"} {
		crd := readCRD(t, name)
		set := newSet(crd)
		theirs, err := schemaconv.ToSchemaFromOpenAPI(upstreamModels(t, crd), crd.Spec.PreserveUnknownFields)
		if err != nil {
			t.Fatal(err)
		}
		byName := map[string]smdschema.TypeDef{}
		for _, def := range theirs.Types {
			byName[def.Name] = def
		}
		for _, v := range set.versions {
			parseable, err := v.parseableType.get(v.compileParseableType)
			if err != nil {
				t.Fatal(err)
			}
			for _, def := range parseable.Schema.Types {
				want, ok := byName[def.Name]
				if !ok {
					if strings.Contains(def.Name, "autoscaling") {
						continue // upstream has it only where a version has the scale subresource
					}
					t.Errorf("%s/%s: upstream has no type %s", name, v.Name(), def.Name)
					continue
				}
				if !sortFields(&def.Atom).Equals(sortFields(&want.Atom)) {
					t.Errorf("%s/%s: %s (-upstream +ours):\n%s", name, v.Name(), def.Name,
						cmp.Diff(want.Atom, def.Atom, cmp.AllowUnexported()))
				}
			}
		}
	}
}

// sortFields sorts the fields of objects, because they come from Go maps.
func sortFields(a *smdschema.Atom) *smdschema.Atom {
	sorted := *a
	if a.Map != nil {
		m := smdschema.Map{ElementRelationship: a.Map.ElementRelationship, ElementType: sortRef(a.Map.ElementType),
			Unions: a.Map.Unions}
		for _, f := range a.Map.Fields {
			f.Type = sortRef(f.Type)
			m.Fields = append(m.Fields, f)
		}
		slices.SortFunc(m.Fields, func(a, b smdschema.StructField) int { return strings.Compare(a.Name, b.Name) })
		sorted.Map = &m
	}
	if a.List != nil {
		l := *a.List
		l.ElementType = sortRef(l.ElementType)
		sorted.List = &l
	}
	return &sorted
}

func sortRef(r smdschema.TypeRef) smdschema.TypeRef {
	if r.NamedType == nil {
		r.Inlined = *sortFields(&r.Inlined)
	}
	return r
}

// TestTypeConverterAgainstUpstream tests that typing, comparing and merging objects has the same results as upstream.
func TestTypeConverterAgainstUpstream(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"widgets", "relics"} {
		crd := readCRD(t, name)
		set := newSet(crd)
		theirs, err := managedfields.NewTypeConverter(upstreamModels(t, crd), crd.Spec.PreserveUnknownFields)
		if err != nil {
			t.Fatal(err)
		}
		ours := set.TypeConverter()
		random := rand.New(rand.NewPCG(3, 4))
		for _, version := range []string{"v1", "v2", "v3", "v9"} {
			t.Run(name+"/"+version, func(t *testing.T) {
				accepted := 0
				for range 120 {
					old := randomObject(t, random, set.kind.Kind, version)
					if version != "v9" {
						// What is unknown would be refused by the type already.
						if _, err := set.Coerce(old.Object, CoerceOptions{}); err != nil {
							continue
						}
					}
					obj := mutate(random, old, 1)
					want := typing(theirs, obj, old)
					got := typing(ours, obj, old)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("(-upstream +ours):\n%s\nold %v\nnew %v", diff, old.Object, obj.Object)
					}
					if want.Err == "" {
						accepted++
					}
				}
				if version != "v9" && accepted < 20 {
					t.Errorf("only %d objects were of the type: the test compares too little", accepted)
				}
			})
		}
	}
}

// typingResult is the result of typing, comparing and merging two objects, as managed fields do.
type typingResult struct {
	Err                      string
	Set                      string
	Added, Modified, Removed string
	Merged, Extracted        map[string]any
}

func typing(converter managedfields.TypeConverter, obj, old *unstructured.Unstructured) (result typingResult) {
	failed := func(err error) bool {
		if err != nil {
			result.Err = "not of the type" // the library reports a random one of several wrong fields
		}
		return err != nil
	}
	oldTyped, err := converter.ObjectToTyped(old.DeepCopy())
	if failed(err) {
		return result
	}
	newTyped, err := converter.ObjectToTyped(obj.DeepCopy(), typed.AllowDuplicates)
	if failed(err) {
		return result
	}
	fields, err := newTyped.ToFieldSet()
	if failed(err) {
		return result
	}
	result.Set = fields.String()
	comparison, err := oldTyped.Compare(newTyped)
	if failed(err) {
		return result
	}
	result.Added, result.Modified, result.Removed = comparison.Added.String(), comparison.Modified.String(),
		comparison.Removed.String()
	merged, err := oldTyped.Merge(newTyped)
	if failed(err) {
		return result
	}
	asObject := func(v *typed.TypedValue) map[string]any {
		o, err := converter.TypedToObject(v)
		if failed(err) {
			return nil
		}
		return o.(*unstructured.Unstructured).Object
	}
	result.Merged = asObject(merged)
	result.Extracted = asObject(newTyped.ExtractItems(fields.Leaves()))
	return result
}

func TestTypeConverterScale(t *testing.T) {
	t.Parallel()
	converter := newSet(readCRD(t, "widgets")).TypeConverter()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	scale.Name = "a"
	scale.SetGroupVersionKind(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
	value, err := converter.ObjectToTyped(scale)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := value.ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(fields.String(), ".spec.replicas") {
		t.Errorf("no replicas in %s", fields)
	}
}

// TestFieldManagerDropsUnknownVersions tests that managed fields of a version that the CRD no longer has do not fail a
// write, because the library recognizes the error.
func TestFieldManagerDropsUnknownVersions(t *testing.T) {
	t.Parallel()
	set := newSet(readCRD(t, "widgets"))
	converter := set.TypeConverter()
	v := set.Version("v1")
	gvk := v.set.kind.WithVersion("v1")
	manager, err := managedfields.NewDefaultCRDFieldManager(converter, renamer{}, noDefaults{}, creator{}, gvk,
		gvk.GroupVersion(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	live := wrap(t, widget("color: red, replicas: 2"))
	live.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{
		"manager": "old", "operation": "Apply", "apiVersion": "example.com/v0", "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}},
	}}
	changed := live.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, "blue", "spec", "color"); err != nil {
		t.Fatal(err)
	}
	out, err := manager.Update(live, changed, "tester")
	if err != nil {
		t.Fatal(err)
	}
	entries := out.(*unstructured.Unstructured).GetManagedFields()
	if len(entries) != 1 || entries[0].Manager != "tester" {
		t.Errorf("got %v, want the entry of tester alone", entries)
	}
}

// renamer converts by rewriting apiVersion, to any version.
type renamer struct{ runtime.ObjectConvertor }

func (renamer) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	out := in.DeepCopyObject()
	gvk, _ := to.KindForGroupVersionKinds([]schema.GroupVersionKind{in.GetObjectKind().GroupVersionKind()})
	out.GetObjectKind().SetGroupVersionKind(gvk)
	return out, nil
}

type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}

type creator struct{ runtime.ObjectCreater }

// TestConcurrentUse compiles and uses everything from several goroutines, for the race detector.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"widgets", "relics"} {
		set := newSet(readCRD(t, name))
		converter := set.TypeConverter()
		done := make(chan struct{})
		const workers = 8
		for worker := range workers {
			go func() {
				defer func() { done <- struct{}{} }()
				random := rand.New(rand.NewPCG(5, uint64(worker)))
				for range 20 {
					for _, v := range set.versions {
						old := randomObject(t, random, set.kind.Kind, v.Name())
						obj := mutate(random, old, 2)
						_, _ = set.Coerce(obj.Object, CoerceOptions{ReturnUnknownFieldPaths: true})
						_ = set.Default(obj.Object, MaxDefaults)
						_ = v.ValidateCreate(context.Background(), obj)
						_ = v.ValidateUpdate(context.Background(), obj, old)
						_ = v.ValidateStatusUpdate(context.Background(), obj, old)
						_ = v.SelectableFields(obj.Object)
						_, _ = converter.ObjectToTyped(obj)
					}
				}
			}()
		}
		for range workers {
			<-done
		}
	}
}
