package validation

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func texts(errs field.ErrorList) []string {
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return texts
}

func TestValidateCreate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		spec string
		edit func(obj map[string]any)
		want []string
	}{
		{name: "valid", spec: "color: red, port: 80, when: \"2026-01-01T00:00:00Z\""},
		{name: "integer written as float", spec: "color: red, replicas: 1.0"},
		{name: "int-or-string", spec: "color: red, port: http"},
		{
			name: "kind and apiVersion",
			spec: "color: red",
			edit: func(obj map[string]any) { obj["kind"], obj["apiVersion"] = "Gadget", "example.com/v2" },
			want: []string{`kind: Invalid value: "Gadget": must be Widget`,
				`apiVersion: Invalid value: "example.com/v2": must be example.com/v1`},
		},
		{
			name: "name",
			spec: "color: red",
			edit: func(obj map[string]any) { obj["metadata"].(map[string]any)["name"] = "A_" },
			want: []string{`metadata.name: Invalid value: "A_": a lowercase RFC 1123 subdomain must consist of lower case ` +
				`alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', ` +
				`regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		},
		{
			name: "missing, and rules are not run then",
			want: []string{
				`spec.color: Required value`,
				`<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the ` +
					`existing errors to complete validation`,
			},
		},
		{
			name: "enum",
			spec: "color: pink",
			want: []string{
				`spec.color: Unsupported value: "pink": supported values: "red", "green", "blue"`,
				`<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the ` +
					`existing errors to complete validation`,
			},
		},
		{
			name: "type",
			spec: "color: red, weight: heavy",
			want: []string{
				`spec.weight: Invalid value: "string": spec.weight in body must be of type number: "string"`,
				`<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the ` +
					`existing errors to complete validation`,
			},
		},
		{
			name: "pattern and minimum do not keep rules from being run",
			spec: "color: red, name: UP, replicas: -1",
			edit: func(obj map[string]any) { obj["status"] = map[string]any{"replicas": int64(101)} },
			want: []string{
				`spec.name: Invalid value: "UP": spec.name in body should match '^[a-z]+$'`,
				`spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0`,
				`.spec.replicas: Invalid value: -1: should be a non-negative integer`,
				`<nil>: Invalid value: too many replicas`,
			},
		},
		{
			name: "format",
			spec: "color: red, when: now",
			want: []string{
				`spec.when: Invalid value: "now": spec.when in body must be of type date-time: "now"`,
				`<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the ` +
					`existing errors to complete validation`,
			},
		},
		{
			name: "scale",
			spec: "color: red",
			edit: func(obj map[string]any) {
				obj["status"] = map[string]any{"replicas": int64(1 << 31), "selector": int64(1)}
			},
			want: []string{
				`status.selector: Invalid value: "integer": status.selector in body must be of type string: "integer"`,
				`.status.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647`,
				`.status.selector: Invalid value: "": .status.selector accessor error: 1 is of the type int64, expected string`,
				`<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the ` +
					`existing errors to complete validation`,
			},
		},
		{
			name: "sets and maps",
			spec: "color: red, tags: [a, a], ports: [{number: 1}, {number: 1}]",
			want: []string{`spec.tags[1]: Duplicate value: "a"`, `spec.ports[1]: Duplicate value: {"number":1}`},
		},
		{
			name: "embedded resources",
			spec: "color: red, template: {apiVersion: v1, kind: '', metadata: {labels: {a: '-'}}}",
			want: []string{
				`spec.template.kind: Invalid value: "": must not be empty`,
				`spec.template.metadata.labels: Invalid value: "-": a valid label must be an empty string or consist of`,
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			obj := wrap(t, widget(tc.spec))
			if tc.edit != nil {
				tc.edit(obj.Object)
			}
			got := texts(newSet(readCRD(t, "widgets")).Version("v1").ValidateCreate(context.Background(), obj))
			// Properties are validated in random order.
			slices.Sort(got)
			slices.Sort(tc.want)
			equal := slices.EqualFunc(tc.want, got, func(want, got string) bool { return strings.HasPrefix(got, want) })
			if !equal {
				t.Errorf("(-want +got):\n%s", cmp.Diff(tc.want, got))
			}
		})
	}
}

func TestValidateUpdate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		old, new string
		want     []string
	}{
		{name: "unchanged errors are dropped", old: "color: pink, tags: [a, a]",
			new: "color: pink, tags: [a, a], replicas: 3"},
		{
			name: "new errors are not",
			old:  "color: red",
			new:  "color: red, name: UP",
			want: []string{`spec.name: Invalid value: "UP": spec.name in body should match '^[a-z]+$'`},
		},
		{
			name: "items of list maps are told apart by key",
			old:  "color: red, ports: [{number: 1, protocol: TCP, note: 5}]",
			new:  "color: red, ports: [{number: 2, protocol: TCP}, {number: 1, protocol: TCP, note: 5}]",
		},
		{
			name: "transition rules",
			old:  "color: red, immutable: a",
			new:  "color: red, immutable: b",
			want: []string{`spec.immutable: Invalid value: "b": is immutable`},
		},
		{
			name: "duplicates in what had none",
			old:  "color: red, tags: [a]",
			new:  "color: red, tags: [a, a]",
			want: []string{`spec.tags[1]: Duplicate value: "a"`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := texts(newSet(readCRD(t, "widgets")).Version("v1").ValidateUpdate(context.Background(),
				wrap(t, widget(tc.new)), wrap(t, widget(tc.old))))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestValidateStatusUpdate tests that an update of the status is validated by the schema only in the status, and by the
// rules everywhere.
func TestValidateStatusUpdate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		spec     string
		old, new string
		want     []string
	}{
		{name: "the spec may be invalid", spec: "color: pink", new: "{phase: Ready}"},
		{
			name: "schema of the status",
			spec: "color: red",
			new:  "{phase: Lost}",
			want: []string{
				`status.phase: Unsupported value: "Lost": supported values: "Pending", "Ready"`,
				`<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the ` +
					`existing errors to complete validation`,
			},
		},
		{name: "unchanged errors are dropped", spec: "color: red", old: "{phase: Lost}",
			new: "{phase: Lost, replicas: 1}"},
		{name: "rules of the whole object", spec: "color: red", new: "{replicas: 101}",
			want: []string{`<nil>: Invalid value: too many replicas`}},
		{
			name: "list maps",
			spec: "color: red",
			new:  "{conditions: [{type: A}, {type: A}]}",
			want: []string{`status.conditions[1]: Duplicate value: {"type":"A"}`},
		},
		{name: "scale of the status", spec: "color: red", new: "{replicas: -1}",
			want: []string{`.status.replicas: Invalid value: -1: should be a non-negative integer`}},
		{name: "no status", spec: "color: red", old: "{phase: Lost}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			obj, old := wrap(t, widget(tc.spec)), wrap(t, widget(tc.spec))
			for text, into := range map[*string]map[string]any{&tc.new: obj.Object, &tc.old: old.Object} {
				if *text != "" {
					into["status"] = object(t, *text)
				}
			}
			got := texts(newSet(readCRD(t, "widgets")).Version("v1").ValidateStatusUpdate(context.Background(), obj, old))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithoutStructuralSchema(t *testing.T) {
	t.Parallel()
	set := newSet(readCRD(t, "relics"))
	ctx := context.Background()
	obj := wrap(t,
		"{apiVersion: example.com/v1, kind: Relic, metadata: {name: a, resourceVersion: '1'}, spec: {age: 1, other: 2}}")
	old := wrap(t,
		"{apiVersion: example.com/v1, kind: Relic, metadata: {name: a, resourceVersion: '1'}, spec: {age: 200}}")
	want := []string{`spec.age: Invalid value: 1: spec.age in body should be greater than or equal to 100`}
	v1 := set.Version("v1")
	if diff := cmp.Diff(want, texts(v1.ValidateCreate(ctx, obj))); diff != "" {
		t.Errorf("create (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, texts(v1.ValidateUpdate(ctx, obj, old))); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
	for _, o := range []map[string]any{obj.Object, old.Object} {
		o["apiVersion"] = "example.com/v2"
	}
	v2 := set.Version("v2")
	if errs := slices.Concat(v2.ValidateCreate(ctx, obj), v2.ValidateUpdate(ctx, obj, old),
		v2.ValidateStatusUpdate(ctx, obj, old)); len(errs) > 0 {
		t.Errorf("without a schema: %v", errs)
	}
}
