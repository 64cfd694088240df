package validation

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func TestCoerce(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: example.com/v1\nkind: Widget\n"
	for _, tc := range []struct {
		name    string
		crd     string
		in      string
		options CoerceOptions
		want    string
		unknown []string
		err     string
	}{
		{
			name: "unknown fields are dropped and reported",
			in: head +
				"metadata: {name: a, bogus: 1}\nspec: {color: red, x: 1, ports: [{number: 1, other: 2}]}\nextra: 1",
			options: CoerceOptions{ReturnUnknownFieldPaths: true},
			want:    head + "metadata: {name: a}\nspec: {color: red, ports: [{number: 1}]}",
			unknown: []string{"metadata.bogus", "extra", "spec.ports[0].other", "spec.x"},
		},
		{
			name: "unknown fields are dropped silently",
			in:   head + "metadata: {name: a, bogus: 1}\nspec: {x: 1}",
			want: head + "metadata: {name: a}\nspec: {}",
		},
		{
			name: "pruning begins anew under declared fields of what preserves unknown ones",
			in:   head + "spec: {free: {a: {b: 1}}, bag: {x: 1, known: {a: s, b: 1}}}",
			want: head + "spec: {free: {a: {b: 1}}, bag: {x: 1, known: {a: s}}}",
		},
		{
			name: "nulls: kept where nullable or defaulted, else dropped",
			in:   head + "spec: {maybe: null, never: null, replicas: null}",
			want: head + "spec: {maybe: null, replicas: null}",
		},
		{
			name: "embedded resources",
			in: head +
				"spec: {template: {apiVersion: v1, kind: Pod, metadata: {name: p, bogus: 1}, any: 1}, strict: {apiVersion: v1, " +
				"kind: X, metadata: {name: p}, other: 1}}",
			options: CoerceOptions{ReturnUnknownFieldPaths: true},
			want: head +
				"spec: {template: {apiVersion: v1, kind: Pod, metadata: {name: p}, any: 1}, strict: {apiVersion: v1, kind: X, " +
				"metadata: {name: p}}}",
			unknown: []string{"spec.strict.other", "spec.template.metadata.bogus"},
		},
		{
			name: "wrong type in metadata of a request",
			in:   head + "metadata: {name: a, labels: {a: 1}}",
			err:  "cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
		},
		{
			name: "wrong type in metadata from storage",
			in: head +
				"metadata: {name: a, labels: {a: 1}}\nspec: {template: {apiVersion: v1, kind: Pod, metadata: {name: 7}}}",
			options: CoerceOptions{DropInvalidMetadata: true, RepairGeneration: true},
			want: head +
				"metadata: {name: a, generation: 1}\nspec: {template: {apiVersion: v1, kind: Pod, metadata: {}}}",
		},
		{
			name: "wrong type in embedded metadata of a request",
			in:   head + "spec: {template: {apiVersion: v1, kind: Pod, metadata: {name: 7}}}",
			err:  "spec.template.metadata: Invalid value",
		},
		{
			name:    "nothing to repair without metadata",
			in:      head + "spec: {}",
			options: CoerceOptions{RepairGeneration: true},
			want:    head + "spec: {}",
		},
		{
			name: "kind that is no string",
			in:   "apiVersion: example.com/v1\nkind: 1",
			err:  ".kind accessor error: 1 is of the type int64, expected string",
		},
		{
			name: "apiVersion that is no string",
			in:   "apiVersion: {}\nkind: Widget",
			err:  ".apiVersion accessor error: map[] is of the type map[string]interface {}, expected string",
		},
		{
			name: "malformed apiVersion",
			in:   "apiVersion: a/b/c\nkind: Widget",
			err:  "unexpected GroupVersion string: a/b/c",
		},
		{
			name: "other kinds are left alone but for metadata",
			in:   "apiVersion: meta.k8s.io/v1\nkind: DeleteOptions\nmetadata: {bogus: 1, name: a}\npropagationPolicy: Orphan",
			want: "apiVersion: meta.k8s.io/v1\nkind: DeleteOptions\nmetadata: {name: a}\npropagationPolicy: Orphan",
		},
		{
			name: "the version's own schema",
			in:   "apiVersion: example.com/v2\nkind: Widget\nspec: {color: red, colour: red}",
			want: "apiVersion: example.com/v2\nkind: Widget\nspec: {colour: red}",
		},
		{
			name: "a version that the CRD has not knows no field",
			in:   "apiVersion: example.com/v9\nkind: Widget\nmetadata: {name: a}\nspec: {color: red}",
			want: "apiVersion: example.com/v9\nkind: Widget\nmetadata: {name: a}",
		},
		{
			name: "a schema that preserves everything",
			in:   "apiVersion: example.com/v3\nkind: Widget\nanything: {a: null}",
			want: "apiVersion: example.com/v3\nkind: Widget\nanything: {a: null}",
		},
		{
			name: "preserveUnknownFields",
			crd:  "relics",
			in:   "apiVersion: example.com/v1\nkind: Relic\nmetadata: {name: a, bogus: 1}\nspec: {age: null, other: 1}",
			want: "apiVersion: example.com/v1\nkind: Relic\nmetadata: {name: a}\nspec: {age: null, other: 1}",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.crd == "" {
				tc.crd = "widgets"
			}
			obj := object(t, tc.in)
			unknown, err := newSet(readCRD(t, tc.crd)).Coerce(obj, tc.options)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("got error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := object(t, tc.want)
			if diff := cmp.Diff(want, obj); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.unknown, unknown); diff != "" {
				t.Errorf("unknown fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefault(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, crd, in, want string }{
		{
			name: "missing fields, null that may not be null, no missing parents",
			in:   "{apiVersion: example.com/v1, kind: Widget, spec: {replicas: null, ports: [{number: 1}]}}",
			want: "{apiVersion: example.com/v1, kind: Widget, spec: {replicas: 1, maybe: perhaps, limits: {cpu: 100m}, ports: " +
				"[{number: 1, protocol: TCP}]}}",
		},
		{
			name: "nullable null stays",
			in:   "{apiVersion: example.com/v1, kind: Widget, spec: {maybe: null, replicas: 2, limits: {cpu: 1m}}}",
			want: "{apiVersion: example.com/v1, kind: Widget, spec: {maybe: null, replicas: 2, limits: {cpu: 1m}}}",
		},
		{
			name: "no spec, no defaults",
			in:   "{apiVersion: example.com/v1, kind: Widget}",
			want: "{apiVersion: example.com/v1, kind: Widget}",
		},
		{
			name: "by the object's version",
			in:   "{apiVersion: example.com/v2, kind: Widget, spec: {}}",
			want: "{apiVersion: example.com/v2, kind: Widget, spec: {colour: grey}}",
		},
		{
			name: "version that the CRD has not",
			in:   "{apiVersion: example.com/v9, kind: Widget, spec: {}}",
			want: "{apiVersion: example.com/v9, kind: Widget, spec: {}}",
		},
		{
			name: "other kind",
			in:   "{apiVersion: example.com/v1, kind: WidgetList, spec: {}}",
			want: "{apiVersion: example.com/v1, kind: WidgetList, spec: {}}",
		},
		{
			name: "no structural schema",
			crd:  "relics",
			in:   "{apiVersion: example.com/v1, kind: Relic, spec: {}}",
			want: "{apiVersion: example.com/v1, kind: Relic, spec: {}}",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.crd == "" {
				tc.crd = "widgets"
			}
			obj := object(t, tc.in)
			if err := newSet(readCRD(t, tc.crd)).Default(obj, MaxDefaults); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(object(t, tc.want), obj); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNewKeepsTheCRD tests that compiling does not modify the CRD.
func TestNewKeepsTheCRD(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"widgets", "relics"} {
		crd := readCRD(t, name)
		before := crd.DeepCopy()
		set := newSet(crd)
		for _, v := range crd.Spec.Versions {
			compileAll(t, set.Version(v.Name))
		}
		if diff := cmp.Diff(before, crd); diff != "" {
			t.Errorf("%s was modified (-before +after):\n%s", name, diff)
		}
	}
}

func compileAll(t testing.TB, v *Version) {
	t.Helper()
	for part, compile := range map[string]func() error{
		"structural":     func() error { _, err := v.Structural(); return err },
		"object":         func() error { _, err := v.openAPISchema(); return err },
		"status":         func() error { _, err := v.statusOpenAPISchema(); return err },
		"rules":          func() error { _, err := v.rules(); return err },
		"parseable type": func() error { _, err := v.parseableType.get(v.compileParseableType); return err },
	} {
		if err := compile(); err != nil {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// TestReadBuildsNoValidator tests that decoding compiles nothing but the structural schema.
func TestReadBuildsNoValidator(t *testing.T) {
	t.Parallel()
	set := newSet(readCRD(t, "widgets"))
	obj := object(t, widget("color: red"))
	if _, err := set.Coerce(obj, CoerceOptions{DropInvalidMetadata: true, RepairGeneration: true}); err != nil {
		t.Fatal(err)
	}
	if err := set.Default(obj, MaxDefaults); err != nil {
		t.Fatal(err)
	}
	v := set.Version("v1")
	if v.structural.built.Load() == nil {
		t.Error("decoding should have compiled the structural schema")
	}
	if v.openAPI.built.Load() != nil || v.statusOpenAPI.built.Load() != nil || v.celValidator.built.Load() != nil ||
		v.parseableType.built.Load() != nil {
		t.Error("decoding should not have compiled a validator, rules or types")
	}
	if set.Version("v2").structural.built.Load() != nil {
		t.Error("decoding v1 should not have compiled v2")
	}
}

// FuzzDecode tests that coercing and defaulting do not panic, that they accept an object again that they have accepted,
// and that they do not change it the second time: the server reads an object the way it was written.
func FuzzDecode(f *testing.F) {
	for _, spec := range []string{
		"color: red", "ports: [{number: 1}]", "template: {metadata: {name: 1}}", "limits: null", "tags: {a: b}",
		"strict: [], bag: {known: 1}, labels: {a: null}", "template: {metadata: null, kind: 1}",
		"ports: [null, [], {}]",
	} {
		data, err := json.Marshal(object(f, widget(spec)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, true, true, true)
		f.Add(data, false, false, false)
	}
	f.Add([]byte(`{"apiVersion":"example.com/v1","kind":"Relic","metadata":null}`), true, true, true)
	f.Add([]byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":[]}`), true, true, true)
	f.Add([]byte(`{"kind":null}`), true, true, true)

	sets := []*Set{newSet(readCRD(f, "widgets")), newSet(readCRD(f, "relics"))}
	f.Fuzz(func(t *testing.T, data []byte, drop, repair, unknown bool) {
		options := CoerceOptions{DropInvalidMetadata: drop, RepairGeneration: repair, ReturnUnknownFieldPaths: unknown}
		for _, set := range sets {
			var obj map[string]any
			if utiljson.Unmarshal(data, &obj) != nil || obj == nil {
				return
			}
			decode := func() error {
				if _, err := set.Coerce(obj, options); err != nil {
					return err
				}
				return set.Default(obj, MaxDefaults)
			}
			if decode() != nil {
				continue
			}
			first, err := json.Marshal(obj)
			if err != nil {
				t.Fatal(err)
			}
			if err := decode(); err != nil {
				t.Fatalf("accepted once, then not: %v\n%s", err, first)
			}
			second, err := json.Marshal(obj)
			if err != nil {
				t.Fatal(err)
			}
			if string(first) != string(second) {
				t.Fatalf("decoding again changes the object:\n%s\n%s", first, second)
			}
		}
	})
}
