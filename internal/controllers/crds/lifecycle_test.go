package crds

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func conditionOf(crd *apiextensionsv1.CustomResourceDefinition,
	kind apiextensionsv1.CustomResourceDefinitionConditionType) string {
	c := apihelpers.FindCRDCondition(crd, kind)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	r := startReplica(t, replicaOptions{})
	crd := definitionNamed("widgets", "example.com", "Widget")
	crd.Labels = map[string]string{"a": "b"}
	crd.Annotations = map[string]string{"c": "d"}
	crd.Finalizers = []string{"example.com/hold"}
	crd.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate,
		APIVersion: "apiextensions.k8s.io/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}
	for range 10 {
		r.write(crd)
		r.reconcile(crd.Name)
		record := r.shown(crd.Name)
		if record == nil || !record.NamesAccepted || !record.Established {
			t.Fatalf("in the table after Reconcile: %+v", record)
		}
		got := r.read(crd.Name)
		if got.ResourceVersion != record.ResourceVersion {
			t.Errorf("the table has %s, etcd %s", record.ResourceVersion, got.ResourceVersion)
		}
		ignore := []cmp.Option{cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ResourceVersion"),
			cmpopts.IgnoreFields(apiextensionsv1.CustomResourceDefinitionStatus{}, "Conditions", "AcceptedNames"),
			cmpopts.EquateEmpty()}
		want := crd.DeepCopy()
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&want.Spec)
		if diff := cmp.Diff(want, got, ignore...); diff != "" {
			t.Errorf("more than the status was written: %s", diff)
		}
		// Reconciling again writes nothing.
		r.reconcile(crd.Name)
		if again := r.read(crd.Name); again.ResourceVersion != got.ResourceVersion {
			t.Errorf("written again at %s", again.ResourceVersion)
		}
	}
	r.reconcile("nothing.example.com")
}

func TestNamesAreFreed(t *testing.T) {
	t.Parallel()
	r := startReplica(t, replicaOptions{})
	first, second := definitionNamed("firsts", "example.com", "Thing"), definitionNamed("seconds", "example.com", "Thing")
	r.write(first)
	r.reconcile(first.Name)
	r.write(second)
	r.reconcile(second.Name)
	got := r.read(second.Name)
	if c := conditionOf(got, apiextensionsv1.NamesAccepted); c != `False ListKindConflict: "ThingList" is already in use` {
		t.Errorf("NamesAccepted: %s", c)
	}
	if c := conditionOf(got, apiextensionsv1.Established); c != "False NotAccepted: not all names are accepted" {
		t.Errorf("Established: %s", c)
	}
	if got.Status.AcceptedNames.Plural != "seconds" || got.Status.AcceptedNames.Kind != "" {
		t.Errorf("accepted: %+v", got.Status.AcceptedNames)
	}
	r.delete(first.Name)
	r.until("the second has the names", func() bool { return r.shown(second.Name).Established })
	if r.shown(first.Name) != nil || r.read(first.Name) != nil {
		t.Error("the first is still there")
	}
	if c := conditionOf(r.read(second.Name), apiextensionsv1.NamesAccepted); c != "True NoConflicts: no conflicts found" {
		t.Errorf("NamesAccepted: %s", c)
	}
}

func TestNamesAreFreedByAnUpdate(t *testing.T) {
	t.Parallel()
	r := startReplica(t, replicaOptions{})
	first, second := definitionNamed("firsts", "example.com", "First"), definitionNamed("seconds", "example.com", "Second")
	first.Spec.Names.ShortNames, second.Spec.Names.ShortNames = []string{"x"}, []string{"x"}
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{first, second} {
		r.write(crd)
		r.reconcile(crd.Name)
	}
	if r.shown(second.Name).NamesAccepted {
		t.Fatal("the short name was accepted twice")
	}
	first = r.read(first.Name)
	first.Spec.Names.ShortNames = []string{"y"}
	r.write(first)
	r.reconcile(first.Name)
	r.until("the second has the short name", func() bool { return r.shown(second.Name).Established })
}

// TestReplicasAgree checks that two servers that reconcile two new CRDs with the same name at the same time accept it
// for exactly one of them.
func TestReplicasAgree(t *testing.T) {
	t.Parallel()
	replicas := []*replica{startReplica(t, replicaOptions{}), startReplica(t, replicaOptions{})}
	for n := range 30 {
		group := fmt.Sprintf("g%d.example.com", n)
		var writers sync.WaitGroup
		for i, r := range replicas {
			writers.Go(func() {
				crd := definitionNamed(fmt.Sprintf("r%ds", i), group, "Thing")
				r.write(crd)
				r.reconcile(crd.Name)
			})
		}
		writers.Wait()
		replicas[0].until("one has the kind", func() bool {
			accepted := 0
			for i := range replicas {
				record := replicas[0].shown(fmt.Sprintf("r%ds.%s", i, group))
				if record != nil && record.AcceptedNames.Kind == "Thing" {
					accepted++
				}
			}
			if accepted > 1 {
				t.Errorf("group %s: %d CRDs have the kind", group, accepted)
			}
			return accepted > 0
		})
	}
}

func TestConcurrentReconciles(t *testing.T) {
	t.Parallel()
	r := startReplica(t, replicaOptions{})
	var clients sync.WaitGroup
	for i := range 16 {
		clients.Go(func() {
			for n := range 10 {
				crd := definitionNamed(fmt.Sprintf("p%dn%ds", i, n), fmt.Sprintf("g%d.example.com", n%3),
					fmt.Sprintf("K%dN%d", i, n))
				r.write(crd)
				r.reconcile(crd.Name)
				if record := r.shown(crd.Name); record == nil || !record.Established {
					t.Errorf("%s: %+v", crd.Name, record)
				}
			}
		})
	}
	clients.Wait()
}

// TestStartReconciles checks that a server that starts reconciles a CRD whose status was not written, because another
// server ended between both writes.
func TestStartReconciles(t *testing.T) {
	t.Parallel()
	crd := definitionNamed("widgets", "example.com", "Widget")
	t.Run("server", func(t *testing.T) {
		idle := startReplica(t, replicaOptions{idle: true})
		idle.write(crd)
		r := startReplica(t, replicaOptions{})
		r.until("it is established", func() bool { return r.shown(crd.Name).Established })
		was := r.read(crd.Name)
		again := startReplica(t, replicaOptions{})
		again.reconcile(crd.Name)
		if now := again.read(crd.Name); now.ResourceVersion != was.ResourceVersion {
			t.Error("an established CRD was written again")
		}
	})
}
