package crds

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/clock"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Config configures a Reconciler.
type Config struct {
	Store *dynamicstorage.Store
	Table *crds.Table
	// Clock is the real clock if nil.
	Clock clock.PassiveClock
}

// Reconciler keeps the conditions of CRDs.
type Reconciler struct {
	config      Config
	definitions *dynamicstorage.Resource
}

// NewReconciler returns a Reconciler, which does nothing unless it is called.
func NewReconciler(config Config) *Reconciler {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	return &Reconciler{config: config, definitions: config.Store.Resource(crds.GroupName, crds.Plural)}
}

// Reconcile updates the conditions of a CRD. It returns when the table of this replica holds the result, or no longer
// holds the CRD. The CRD endpoint calls it after every write, before it responds.
func (r *Reconciler) Reconcile(ctx context.Context, name string) error {
	return r.reconcile(ctx, name, true)
}

// needsReconcile reports whether the conditions of a CRD may have to change. The record tells, so that a start with
// thousands of CRDs decodes none of them.
func needsReconcile(record *crds.Record) bool {
	return record.WaitsForNames() || !record.NamesAccepted || !record.Established || record.NonStructural ||
		apihelpers.IsProtectedCommunityGroup(record.Group)
}

// reconcile computes all conditions of a CRD and writes them at once if any differs. It returns when the table holds a
// state at least as new as the one in etcd. CRDs of one group may be reconciled concurrently, see claimed. validated
// means that the CRD endpoint has just written the CRD.
func (r *Reconciler) reconcile(ctx context.Context, name string, validated bool) error {
	change := func(ctx context.Context, current *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		return r.changeStatus(ctx, current, validated)
	}
	entry, err := r.definitions.Update(ctx, name, change, dynamicstorage.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("writing the status of CustomResourceDefinition %s: %w", name, err)
	}
	if entry == nil {
		return r.waitDeleted(ctx, name)
	}
	return r.config.Table.WaitFor(ctx, name, entry.Revision)
}

// changeStatus returns the change that updates the status of a stored CRD.
func (r *Reconciler) changeStatus(
	ctx context.Context, current *dynamicstorage.Entry, validated bool,
) (dynamicstorage.Change, error) {
	if current == nil {
		return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	}
	stored, err := crds.Open(current)
	if err != nil {
		return dynamicstorage.Change{}, err
	}
	whole, err := stored.Definition()
	if err != nil {
		return dynamicstorage.Change{}, err
	}
	crd, others := stored.Outline, newClaims()
	if !reflect.DeepEqual(crd.Spec.Names, crd.Status.AcceptedNames) {
		// Names must not be granted from a state older than the one that this change replaces.
		if err := r.config.Table.WaitFor(ctx, crd.Name, current.Revision); err != nil {
			return dynamicstorage.Change{}, err
		}
		others = claimed(r.config.Table, crd, current.Revision)
	}
	created := current.CreateRevision() == current.Revision
	status := state{crd: crd, whole: whole, others: others, structural: created && validated}.status(r.config.Clock.Now())
	if reflect.DeepEqual(&crd.Status, status) {
		return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	}
	return withStatus(stored, status)
}

// withStatus returns the change that replaces the status of a stored CRD and nothing else.
func withStatus(
	stored *crds.Stored, status *apiextensionsv1.CustomResourceDefinitionStatus,
) (dynamicstorage.Change, error) {
	value, err := stored.WithStatus(status)
	return dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}, err
}

// waitDeleted waits until the table no longer holds a CRD that has been deleted from etcd, or holds another one of its
// name.
func (r *Reconciler) waitDeleted(ctx context.Context, name string) error {
	first, ok := r.config.Table.Get(name)
	for record := first; ok && record.UID == first.UID; record, ok = r.config.Table.Get(name) {
		if err := cmp.Or(r.config.Table.WaitFor(ctx, name, record.Revision+1), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}
