package builtin_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// TestRows checks each row for contradictions.
func TestRows(t *testing.T) {
	t.Parallel()
	folders := map[string]bool{}
	for _, d := range builtin.All() {
		t.Run(d.Plural, func(t *testing.T) {
			if folders[d.StorageFolder()] && d.Storage == nil {
				t.Errorf("another row is stored in %s", d.StorageFolder())
			}
			folders[d.StorageFolder()] = true
			if d.List == nil {
				if d.ActsAs == "" || !slices.Equal(d.Verbs, []string{"create"}) {
					t.Error("a resource without lists acts as no other one")
				}
				return
			}
			if kind := typeName(d.Object); kind != d.Kind || typeName(d.List) != kind+"List" ||
				d.Singular != strings.ToLower(kind) {
				t.Errorf("%s and %s are types of %s, singular %s", kind, typeName(d.List), d.Kind, d.Singular)
			}
			for _, sub := range d.Subresources {
				isAction := sub.Action != nil && sub.Strategy == nil && sub.Resets == nil &&
					slices.Equal(sub.Verbs, []string{"create"})
				isScale := sub.Scale != nil && sub.Strategy == nil && sub.Resets == nil && len(sub.Verbs) == 3
				isConnect := sub.Connect != nil && sub.Strategy == nil && sub.Resets == nil
				if !isAction && !isScale && !isConnect && (sub.Strategy == nil || sub.Resets == nil || sub.Verbs == nil) {
					t.Errorf("%s has no strategy, verbs or fields that it resets", sub.Name)
				}
			}
			if d.Subresource("status") != nil && !slices.Contains(d.Resets, "status") {
				t.Error("a write of the resource does not reset the status")
			}
			checkColumns(t, d)
		})
	}
}

func typeName(obj runtime.Object) string { return reflect.TypeOf(obj).Elem().Name() }

// checkColumns prints an empty object.
func checkColumns(t *testing.T, d *resource.Definition) {
	table, err := d.Printer().ConvertToTable(t.Context(), d.Object, nil)
	if err != nil || len(table.Rows[0].Cells) != len(table.ColumnDefinitions) {
		t.Fatalf("%+v, error %v", table, err)
	}
	for _, column := range table.ColumnDefinitions {
		noDescription := d.Plural == "runtimeclasses" && column.Name == "Handler" // as in kube-apiserver
		if column.Name == "" || column.Type == "" || column.Description == "" && !noDescription {
			t.Errorf("column %+v is incomplete", column)
		}
	}
}

// TestCells checks cells. The age, which is unknown, is last unless a row says where it is.
func TestCells(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		resource, obj string
		cells         []any
	}{
		{"namespaces", `{"metadata":{"name":"n"}}`, []any{"n", "Active"}},
		{"configmaps", `{"metadata":{"name":"c"},"data":{"a":"","b":""},"binaryData":{"c":""}}`, []any{"c", int64(3)}},
		{"secrets", `{"metadata":{"name":"s"},"stringData":{"a":"","b":""}}`, []any{"s", "Opaque", int64(2)}},
		{"serviceaccounts", `{"metadata":{"name":"a"}}`, []any{"a"}},
		{
			"resourcequotas",
			`{"metadata":{"name":"q"},"status":{"hard":{"pods":"10","limits.cpu":"1","limits.memory":"1Gi","cpu":"2"},` +
				`"used":{"pods":"1","limits.cpu":"0.5"}}}`,
			[]any{"q", "cpu: 0/2, pods: 1/10", "limits.cpu: 500m/1, limits.memory: 0/1Gi"},
		},
		{"leases", `{"metadata":{"name":"l"},"spec":{"holderIdentity":"me"}}`, []any{"l", "me"}},
		{"leases", `{"metadata":{"name":"l"}}`, []any{"l", ""}},
		{
			"rolebindings",
			`{"metadata":{"name":"b"},"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u"},` +
				`{"kind":"Group","name":"g"},{"kind":"ServiceAccount","namespace":"n","name":"s"},{"kind":"User","name":"v"}]}`,
			[]any{"b", "Role/r", "<unknown>", "u, v", "g", "n/s"},
		},
		{
			"clusterrolebindings", `{"metadata":{"name":"b"},"roleRef":{"kind":"ClusterRole","name":"r"}}`,
			[]any{"b", "ClusterRole/r", "<unknown>", "", "", ""},
		},
	} {
		d, _ := find(t, test.resource)
		table, err := d.Printer().ConvertToTable(t.Context(), decode(t, d, test.obj), nil)
		if err != nil {
			t.Fatal(err)
		}
		cells := table.Rows[0].Cells
		want := test.cells
		if !slices.Contains(want, "<unknown>") {
			want = append(want, "<unknown>")
		}
		if !reflect.DeepEqual(cells, want) {
			t.Errorf("%s %s: cells %q, want %q", test.resource, test.obj, cells, want)
		}
	}
}

// TestFieldSelectors checks which fields can be selected.
func TestFieldSelectors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ resource, field, err string }{
		{"namespaces", "status.phase", ""},
		{"namespaces", "metadata.name", ""},
		{"namespaces", "metadata.namespace", "field label not supported: metadata.namespace"},
		{"namespaces", "name", "field label not supported: name"},
		{"secrets", "type", ""},
		{"secrets", "metadata.namespace", ""},
		{"secrets", "data", "field label not supported: data"},
	} {
		d, _ := find(t, test.resource)
		got := ""
		if _, _, err := d.ConvertField(test.field, "x"); err != nil {
			got = err.Error()
		}
		if got != test.err {
			t.Errorf("%s by %s: error %q, want %q", test.resource, test.field, got, test.err)
		}
	}
}

// TestNamespaceDeletion checks that a namespace terminates before it is removed.
func TestNamespaceDeletion(t *testing.T) {
	t.Parallel()
	d, strategy := find(t, "namespaces")
	namespace := decode(t, d, `{"metadata":{"name":"n"}}`).(*corev1.Namespace)
	strategy.PrepareForCreate(t.Context(), namespace)
	if !d.BeginDeletion(namespace) || namespace.Status.Phase != corev1.NamespaceTerminating || !d.Held(namespace) {
		t.Errorf("%+v is not terminating and held", namespace)
	}
	namespace.Spec.Finalizers = nil
	if d.Held(namespace) {
		t.Error("a namespace without finalizers is held")
	}
	if !d.BeginDeletion(namespace) {
		t.Error("the first DELETE removes a namespace without finalizers")
	}
}

// TestDefinitionsAreNew checks that each server has definitions of its own: it changes some, and several servers may
// run in a process.
func TestDefinitionsAreNew(t *testing.T) {
	t.Parallel()
	for _, tier := range []string{builtin.TierEssential, builtin.TierAll} {
		one, other := builtin.Definitions(tier), builtin.Definitions(tier)
		for n := range one {
			if one[n] == other[n] {
				t.Errorf("%s: the definition of %s is shared", tier, one[n].GroupVersionResource())
			}
		}
	}
}
