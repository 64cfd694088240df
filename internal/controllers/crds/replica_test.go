package crds

import (
	"context"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// replica is the part of a server that handles CRDs. It uses the etcd of the tests.
type replica struct {
	t           *testing.T
	store       *dynamicstorage.Store
	definitions *dynamicstorage.Resource
	table       *crds.Table
	lifecycle   *Lifecycle

	mu sync.Mutex // guards more
	// more is closed, and replaced, with every change.
	more chan struct{}
}

type replicaOptions struct {
	deleteInstances func(context.Context, *crds.Record) (int, error)
	clock           clock.PassiveClock
	idle            bool // the Lifecycle does not run
}

func startReplica(t *testing.T, options replicaOptions) *replica {
	t.Helper()
	if options.deleteInstances == nil {
		options.deleteInstances = func(context.Context, *crds.Record) (int, error) { return 0, nil }
	}
	r := &replica{t: t, store: newStore(t), more: make(chan struct{})}
	r.definitions = r.store.Resource(crds.GroupName, crds.Plural)
	r.table = crds.NewTable(r.definitions)
	reconciler := NewReconciler(Config{Store: r.store, Table: r.table, Clock: options.clock})
	r.lifecycle = NewLifecycle(reconciler, options.deleteInstances)
	r.table.OnChange(r.changed)
	etcdtest.Run(t, func(ctx context.Context) error { r.table.Run(ctx); return nil })
	if !options.idle {
		etcdtest.Run(t, func(ctx context.Context) error { r.lifecycle.Run(ctx); return nil })
	} else { // Run would end the goroutines of the queues
		t.Cleanup(r.lifecycle.conditions.ShutDown)
		t.Cleanup(r.lifecycle.deletions.ShutDown)
	}
	<-r.table.Synced()
	return r
}

func (r *replica) changed(_, _ *crds.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.more)
	r.more = make(chan struct{})
}

// until waits for a change of the table after which reached returns true. The log says which condition it waits for.
func (r *replica) until(condition string, reached func() bool) {
	r.t.Helper()
	r.t.Logf("waiting until %s", condition)
	for {
		r.mu.Lock()
		more := r.more
		r.mu.Unlock()
		if reached() {
			return
		}
		<-more
	}
}

// definitionNamed returns a new CRD.
func definitionNamed(plural, group, kind string) *apiextensionsv1.CustomResourceDefinition {
	crd := definition(inGroup(group, ""))
	crd.Name, crd.UID = plural+"."+group, types.UID(uuid.NewUUID())
	crd.Generation, crd.CreationTimestamp = 1, metav1.NewTime(before)
	crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	crd.Spec.Names = named(plural, strings.ToLower(kind), kind, kind+"List")
	crd.Status.StoredVersions = []string{"v1"}
	return crd
}

// write stores a CRD without reconciling it.
func (r *replica) write(crd *apiextensionsv1.CustomResourceDefinition) int64 {
	r.t.Helper()
	internal, err := crds.FromV1(crd)
	if err != nil {
		r.t.Fatal(err)
	}
	value, err := crds.EncodeDefinition(internal)
	if err != nil {
		r.t.Fatal(err)
	}
	entry, err := r.definitions.Update(r.t.Context(), crd.Name,
		func(context.Context, *dynamicstorage.Entry) (dynamicstorage.Change, error) {
			return dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}, nil
		}, dynamicstorage.UpdateOptions{Fresh: true})
	if err != nil {
		r.t.Fatal(err)
	}
	return entry.Revision
}

func (r *replica) reconcile(name string) {
	r.t.Helper()
	if err := r.lifecycle.Reconcile(r.t.Context(), name); err != nil {
		r.t.Fatal(err)
	}
}

// read returns the CRD in etcd, or nil if there is none.
func (r *replica) read(name string) *apiextensionsv1.CustomResourceDefinition {
	r.t.Helper()
	got, err := etcd.Client.Get(r.t.Context(), etcd.Prefix(r.t)+"/"+crds.GroupName+"/"+crds.Plural+"/"+name)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(got.Kvs) == 0 {
		return nil
	}
	internal, err := crds.DecodeDefinition(got.Kvs[0].Value, got.Kvs[0].ModRevision)
	if err != nil {
		r.t.Fatal(err)
	}
	crd, err := crds.ToV1(internal)
	if err != nil {
		r.t.Fatal(err)
	}
	return crd
}

// delete marks a CRD as deleted, as the CRD endpoint does, and reconciles it.
func (r *replica) delete(name string) {
	r.t.Helper()
	crd := r.read(name)
	deleted := metav1.NewTime(now)
	crd.DeletionTimestamp = &deleted
	crd.Finalizers = append(crd.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer)
	setCondition(&crd.Status, cond(apiextensionsv1.Terminating, yes, "InstanceDeletionPending",
		"CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon", now), now)
	r.write(crd)
	r.reconcile(name)
}

func (r *replica) shown(name string) *crds.Record {
	record, _ := r.table.Get(name)
	return record
}
