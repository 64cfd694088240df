package validation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	set := newSet(readCRD(t, "widgets"))
	if set.Version("v9") != nil {
		t.Error("v9 should not exist")
	}
	v1, v2 := set.Version("v1"), set.Version("v2")
	if !v1.HasStatus() || v2.HasStatus() {
		t.Error("v1 has the status subresource, v2 has not")
	}
	if v1.HasScale() == nil || v2.HasScale() != nil {
		t.Error("v1 has the scale subresource, v2 has not")
	}

	columns := v2.Columns()
	if len(columns) != 1 || columns[0].Name != "Age" || columns[0].JSONPath != ".metadata.creationTimestamp" ||
		!strings.HasPrefix(columns[0].Description, "CreationTimestamp is a timestamp") {
		t.Errorf("default columns: %v", columns)
	}
	v1.spec.AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Color"}}
	if columns := v1.Columns(); len(columns) != 1 || columns[0].Name != "Color" {
		t.Errorf("declared columns: %v", columns)
	}

	// v3 is neither served nor stored, v2 has no status.
	reset := set.StatusResetFields()
	if len(reset) != 1 || reset["example.com/v1"] == nil || reset["example.com/v1"].String() != ".metadata\n.spec" {
		t.Errorf("status reset fields: %v", reset)
	}

	mappings := set.ReplicasPathMappings()
	if got := mappings["example.com/v1"].String(); got != ".spec.replicas" {
		t.Errorf("replicas path: %q", got)
	}
	if path, ok := mappings["example.com/v2"]; !ok || path != nil {
		t.Errorf("a version without scale should map to nil, got %v, %v", path, ok)
	}
}

func TestSelectableFields(t *testing.T) {
	t.Parallel()
	crd := readCRD(t, "widgets")
	crd.Spec.Versions[0].SelectableFields = append(crd.Spec.Versions[0].SelectableFields,
		apiextensionsv1.SelectableField{JSONPath: ".spec.free.deep.er"},
	)
	v := newSet(crd).Version("v1")
	for _, tc := range []struct {
		spec string
		want [3]string
	}{
		{"color: red, replicas: 3, free: {deep: {er: true}}, maybe: x", [3]string{"red", "3", "true"}},
		{"color: null, free: {deep: 1}, maybe: null", [3]string{}},
		{"replicas: 1.5, free: [1]", [3]string{"", "1.5", ""}},
		{"replicas: 1e6, free: {deep: {er: 1e21}}", [3]string{"", "1000000", "1e+21"}},
	} {
		got := v.SelectableFields(object(t, widget(tc.spec)))
		want := map[string]string{}
		for i, name := range []string{"spec.color", "spec.replicas", "spec.free.deep.er"} {
			want[name] = tc.want[i]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.spec, diff)
		}
	}
	if got := v.SelectableFields(nil); got["spec.color"] != "" {
		t.Errorf("an object of nothing: %v", got)
	}
}

func TestWarningsForFinalizers(t *testing.T) {
	t.Parallel()
	obj := wrap(t,
		"{metadata: {finalizers: [kubernetes, orphan, foregroundDeletion, plain, dotted.name, example.com/ok, 'bad name', "+
			"old]}}")
	old := wrap(t, "{metadata: {finalizers: [old]}}")
	got := WarningsForFinalizers(obj, old)
	want := []string{
		`metadata.finalizers: "bad name": name part must consist of alphanumeric characters, '-', '_' or '.', and must ` +
			`start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for ` +
			`validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
		`metadata.finalizers: "bad name": prefer a domain-qualified finalizer name to avoid accidental conflicts with ` +
			`other finalizer writers`,
		`metadata.finalizers: "dotted.name": prefer a domain-qualified finalizer name including a path (/) to avoid ` +
			`accidental conflicts with other finalizer writers`,
		`metadata.finalizers: "plain": prefer a domain-qualified finalizer name to avoid accidental conflicts with other ` +
			`finalizer writers`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := WarningsForFinalizers(wrap(t, "{}"), nil); got != nil {
		t.Errorf("without finalizers: %v", got)
	}
}
