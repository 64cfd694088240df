package validation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// strategy is the interface of upstream's strategies, whose types are not exported.
type strategy interface {
	PrepareForCreate(ctx context.Context, obj runtime.Object)
	PrepareForUpdate(ctx context.Context, obj, old runtime.Object)
	Validate(ctx context.Context, obj runtime.Object) field.ErrorList
	ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
	WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string
	GetAttrs(obj runtime.Object) (labels.Set, fields.Set, error)
	GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set
}

// upstream builds upstream's strategies for a version, like its handler of custom resources.
func upstream(t testing.TB, crd *apiextensionsv1.CustomResourceDefinition,
	version *apiextensionsv1.CustomResourceDefinitionVersion) (main, status strategy) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	internal := &apiextensions.CustomResourceValidation{}
	var structural *structuralschema.Structural
	if version.Schema != nil {
		must(apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema,
			internal, nil))
		s, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
		if !crd.Spec.PreserveUnknownFields {
			must(err)
			s = s.DeepCopy()
			must(defaulting.PruneDefaults(s))
		}
		structural = s
	}
	object, _, err := apiservervalidation.NewSchemaValidator(internal.OpenAPIV3Schema)
	must(err)
	var statusValidator apiservervalidation.SchemaValidator
	var statusSpec *apiextensions.CustomResourceSubresourceStatus
	var scaleSpec *apiextensions.CustomResourceSubresourceScale
	if sub := version.Subresources; sub != nil && sub.Status != nil {
		statusSpec = &apiextensions.CustomResourceSubresourceStatus{}
		if internal.OpenAPIV3Schema != nil {
			if s, ok := internal.OpenAPIV3Schema.Properties["status"]; ok {
				statusValidator, _, err = apiservervalidation.NewSchemaValidator(&s)
				must(err)
			}
		}
	}
	if sub := version.Subresources; sub != nil && sub.Scale != nil {
		scaleSpec = &apiextensions.CustomResourceSubresourceScale{}
		must(apiextensionsv1.Convert_v1_CustomResourceSubresourceScale_To_apiextensions_CustomResourceSubresourceScale(
			sub.Scale, scaleSpec, nil))
	}
	kind := newSet(crd).kind.WithVersion(version.Name)
	s := customresource.NewStrategy(nil, crd.Spec.Scope == apiextensionsv1.NamespaceScoped, kind, object,
		statusValidator, structural, statusSpec, scaleSpec, version.SelectableFields)
	return s, customresource.NewStatusStrategy(s)
}

// TestAgainstUpstream compares all results with those of upstream's strategies, for objects that are valid, invalid or
// malformed.
func TestAgainstUpstream(t *testing.T) {
	t.Parallel()
	rounds := 150
	if testing.Short() {
		rounds = 30
	}
	for _, name := range []string{"widgets", "relics"} {
		crd := readCRD(t, name)
		set := newSet(crd)
		for i := range crd.Spec.Versions {
			version := &crd.Spec.Versions[i]
			t.Run(name+"/"+version.Name, func(t *testing.T) {
				main, status := upstream(t, crd, version)
				ours := set.Version(version.Name)
				if want, got := fmt.Sprint(main.GetResetFields()), fmt.Sprint(ours.ResetFields()); want != got {
					t.Errorf("reset fields: upstream %s, ours %s", want, got)
				}
				random := rand.New(rand.NewPCG(1, 2))
				for range rounds {
					old := randomObject(t, random, set.kind.Kind, version.Name)
					obj := mutate(random, old, 1+random.IntN(4))
					compareDecisions(t, ours, main, status, obj, old)
					if t.Failed() {
						t.Fatalf("old %v\nnew %v", old.Object, obj.Object)
					}
				}
			})
		}
	}
}

// TestOneOfAgainstUpstream tests keywords for which fewer errors inside mean more errors outside. If errors of
// unchanged values were dropped inside, a valid value could be refused.
func TestOneOfAgainstUpstream(t *testing.T) {
	t.Parallel()
	crd := readCRD(t, "widgets")
	main, status := upstream(t, crd, &crd.Spec.Versions[1])
	ours := newSet(crd).Version("v2")
	for _, tc := range []struct{ old, new string }{
		{"choice: {a: q, b: xx}", "choice: {a: q, b: x}"},
		{"choice: {a: x, b: q}", "choice: {a: x, b: r}"},
		{"choice: {a: x, b: x}", "choice: {a: x, b: x}, colour: red"},
		{"other: {a: q}", "other: {a: q}, colour: red"},
		{"other: {a: q, c: d}", "other: {a: q, c: e}"},
		{"other: {a: x}", "other: {a: x}, colour: red"},
	} {
		old, obj := wrap(t, widget(tc.old)), wrap(t, widget(tc.new))
		old.SetAPIVersion("example.com/v2")
		obj.SetAPIVersion("example.com/v2")
		compareDecisions(t, ours, main, status, obj, old)
	}
}

func compareDecisions(t *testing.T, ours *Version, main, status strategy, obj, old *unstructured.Unstructured) {
	t.Helper()
	ctx := context.Background()
	same := func(what string, want, got any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-upstream +ours):\n%s", what, diff)
		}
	}
	sorted := func(errs field.ErrorList) []string {
		texts := texts(errs)
		slices.Sort(texts) // properties are validated in random order
		return texts
	}
	prepared := func(prepare func(obj *unstructured.Unstructured)) map[string]any {
		copied := obj.DeepCopy()
		prepare(copied)
		return copied.Object
	}

	same("create", sorted(main.Validate(ctx, obj)), sorted(ours.ValidateCreate(ctx, obj)))
	same("update", sorted(main.ValidateUpdate(ctx, obj, old)), sorted(ours.ValidateUpdate(ctx, obj, old)))
	same("prepare for create",
		prepared(func(o *unstructured.Unstructured) { main.PrepareForCreate(ctx, o) }),
		prepared(func(o *unstructured.Unstructured) { ours.PrepareForCreate(o) }))
	same("prepare for update",
		prepared(func(o *unstructured.Unstructured) { main.PrepareForUpdate(ctx, o, old.DeepCopy()) }),
		prepared(func(o *unstructured.Unstructured) { ours.PrepareForUpdate(o, old.DeepCopy()) }))
	same("warnings", main.WarningsOnUpdate(ctx, obj, old), WarningsForFinalizers(obj, old))
	if ours.HasStatus() {
		same("status update", sorted(status.ValidateUpdate(ctx, obj, old)),
			sorted(ours.ValidateStatusUpdate(ctx, obj, old)))
		same("prepare for status update",
			prepared(func(o *unstructured.Unstructured) { status.PrepareForUpdate(ctx, o, old.DeepCopy()) }),
			prepared(func(o *unstructured.Unstructured) { ours.PrepareForStatusUpdate(o, old.DeepCopy()) }))
	}

	_, want, wantErr := main.GetAttrs(obj)
	same("error of selectable fields", fmt.Sprint(wantErr), "<nil>")
	for name, value := range ours.SelectableFields(obj.Object) {
		same("selectable field "+name, want[name], value)
	}
}

// randomObject returns an object that is valid in widgets/v1 except for a few changes.
func randomObject(t testing.TB, random *rand.Rand, kind, version string) *unstructured.Unstructured {
	obj := wrap(t,
		widget(`color: red, replicas: 2, name: abc, weight: 1.5, port: 80, when: "2026-01-01T00:00:00Z", maybe: null,
never: x,
		immutable: a, limits: {cpu: 1m}, free: {a: {b: [1, {c: d}]}}, bag: {known: {a: b}, x: y}, labels: {a: b},
		atoms: {a: b}, tags: [a, b],
		ports: [{number: 1, protocol: TCP, note: x}, {number: 2, protocol: UDP}], age: 200, finds: [a, b], colour: grey,
		  choice: {a: x, b: z}, other: {a: z},
		template: {apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: b}}, spec: {x: 1}}`))
	obj.SetKind(kind)
	obj.SetAPIVersion("example.com/" + version)
	obj.SetFinalizers([]string{"example.com/a", "plain"})
	obj.Object["status"] = object(t,
		`{replicas: 2, selector: "a=b", phase: Ready, conditions: [{type: A, status: "True"}, {type: B}]}`)
	return mutate(random, obj, random.IntN(3))
}

// oddities are the values that a mutation inserts.
var oddities = []any{
	nil, "", "a", "red", "pink", "UP", "TCP", "2026-01-01T00:00:00Z", "A_", "B", "kubernetes", "dotted.finalizer",
	"x/y", "xxxx", "z", int64(0), int64(-1), int64(1), int64(2), int64(101),
	int64(1) << 40, 1.0, 1.5, true, map[string]any{}, map[string]any{"a": "b"},
	map[string]any{"number": int64(1), "protocol": "TCP"}, []any{},
	[]any{"a", "a"}, []any{int64(1), nil}, []any{map[string]any{"type": "A"}, map[string]any{"type": "A"}},
}

// mutate returns a copy of an object with a few values replaced, removed or doubled.
func mutate(random *rand.Rand, obj *unstructured.Unstructured, times int) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	for range times {
		mutateMap(random, obj.Object, true)
	}
	return obj
}

func mutateMap(random *rand.Rand, m map[string]any, root bool) {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return
	}
	slices.Sort(keys)
	key := keys[random.IntN(len(keys))]
	if deeper := random.IntN(8) > 0; deeper {
		switch child := m[key].(type) {
		case map[string]any:
			mutateMap(random, child, false)
			return
		case []any:
			if len(child) == 0 {
				break
			}
			n := random.IntN(len(child))
			item, ok := child[n].(map[string]any)
			switch {
			case ok && random.IntN(2) == 0:
				mutateMap(random, item, false)
			case random.IntN(2) == 0:
				m[key] = append(child, runtime.DeepCopyJSONValue(child[n]))
			default:
				child[n] = oddity(random)
			}
			return
		}
	}
	switch {
	case root && (key == "metadata" || key == "apiVersion" || key == "kind"):
		// Coercing lets nothing through that is not of the right type.
		if key == "kind" && random.IntN(8) == 0 {
			m[key] = "Other"
		}
	case random.IntN(4) == 0:
		delete(m, key)
	default:
		m[key] = oddity(random)
	}
}

func oddity(random *rand.Rand) any {
	return runtime.DeepCopyJSONValue(oddities[random.IntN(len(oddities))])
}
