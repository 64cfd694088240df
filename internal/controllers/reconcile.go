package controllers

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// unsettled says whether a look at the whole CRD is worth its price. What a settled CRD is like can be told from its
// record, which is why a start with thousands of CRDs decodes none of them.
func unsettled(record *crds.Record) bool {
	return record.WaitsForNames() || !record.NamesAccepted || !record.Established || record.NonStructural ||
		apihelpers.IsProtectedCommunityGroup(record.Group)
}

// reconcile computes all conditions of a CRD and writes them in one go if any differs. It returns once the table
// shows a state at least as new as the one it left in etcd. Any number of CRDs of a group may be at it at the same time:
// see claimed. validated says that the CRD endpoint has just written it.
func (l *Lifecycle) reconcile(ctx context.Context, name string, validated bool) error {
	entry, err := l.definitions.Update(ctx, name, func(ctx context.Context, current *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		return l.settle(ctx, current, validated)
	}, dynamicstorage.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("writing the status of CustomResourceDefinition %s: %w", name, err)
	}
	if entry == nil {
		return l.waitGone(ctx, name)
	}
	return l.config.Table.WaitFor(ctx, name, entry.Revision)
}

// settle is the change that gives a stored CRD the status it should have.
func (l *Lifecycle) settle(ctx context.Context, current *dynamicstorage.Entry, validated bool) (dynamicstorage.Change, error) {
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
	crd, others := stored.Outline, &claims{crds.NewNames()}
	if !reflect.DeepEqual(crd.Spec.Names, crd.Status.AcceptedNames) {
		// Names must not be granted from an older state than the one that is to be written.
		if err := l.config.Table.WaitFor(ctx, crd.Name, current.Revision); err != nil {
			return dynamicstorage.Change{}, err
		}
		others = claimed(l.config.Table, crd, current.Revision)
	}
	created := current.CreateRevision() == current.Revision
	status := state{crd: crd, whole: whole, others: others, structural: created && validated}.settled(l.config.Clock.Now())
	if reflect.DeepEqual(&crd.Status, status) {
		return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	}
	return withStatus(stored, status)
}

// withStatus is the write of a stored CRD with another status. Nothing else of it changes.
func withStatus(stored *crds.Stored, status *apiextensionsv1.CustomResourceDefinitionStatus) (dynamicstorage.Change, error) {
	value, err := stored.WithStatus(status)
	return dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}, err
}

// waitGone waits until the table no longer shows a CRD that is no longer in etcd, or shows another one of its name.
func (l *Lifecycle) waitGone(ctx context.Context, name string) error {
	first, ok := l.config.Table.Get(name)
	for record := first; ok && record.UID == first.UID; record, ok = l.config.Table.Get(name) {
		if err := l.config.Table.WaitFor(ctx, name, record.Revision+1); err != nil {
			return err
		}
	}
	return nil
}
