package controllers

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// unsettled says whether a look at the whole CRD is worth its price. What a settled CRD is like can be told from its
// record, which is why a start with thousands of CRDs decodes none of them.
func unsettled(record *crds.Record) bool {
	return waiting(record) || !record.NamesAccepted || !record.Established || record.NonStructural ||
		apihelpers.IsProtectedCommunityGroup(record.Group)
}

// reconcile computes all conditions of a CRD and writes them in one go if any differs. It returns once the table
// shows a state at least as new as the one it left in etcd. The CRDs of one group take turns, so that each sees what
// was granted to the one before.
func (l *Lifecycle) reconcile(ctx context.Context, name string, fresh bool) error {
	_, group, _ := strings.Cut(name, ".")
	unlock, err := l.groups.lock(ctx, group)
	if err != nil {
		return fmt.Errorf("waiting to reconcile CustomResourceDefinition %s: %w", name, err)
	}
	defer unlock()
	if record, ok := l.config.Table.Get(name); !fresh && (!ok || !unsettled(record)) {
		return nil // settled while it was in the queue
	}
	entry, err := l.definitions.Update(ctx, name, l.settle, dynamicstorage.UpdateOptions{Fresh: fresh})
	if err != nil {
		return fmt.Errorf("writing the status of CustomResourceDefinition %s: %w", name, err)
	}
	if entry == nil {
		return l.waitGone(ctx, name)
	}
	return l.config.Table.WaitFor(ctx, name, entry.Revision)
}

// settle is the change that gives a stored CRD the status it should have.
func (l *Lifecycle) settle(ctx context.Context, current *dynamicstorage.Entry) (dynamicstorage.Change, error) {
	if current == nil {
		return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	}
	internal, crd, err := decode(current)
	if err != nil {
		return dynamicstorage.Change{}, err
	}
	others := newClaims()
	if !reflect.DeepEqual(crd.Spec.Names, crd.Status.AcceptedNames) {
		// Names must not be granted from an older state than the one that is to be written.
		if err := l.config.Table.WaitFor(ctx, crd.Name, current.Revision); err != nil {
			return dynamicstorage.Change{}, err
		}
		others = claimed(l.config.Table.Group(crd.Spec.Group), crd.Name, current.Revision)
	}
	status := settled(crd, others, l.config.Clock.Now())
	if reflect.DeepEqual(&crd.Status, status) {
		return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	}
	return withStatus(internal, status)
}

// withStatus is the write of a stored CRD with another status. Nothing else of it changes.
func withStatus(crd *apiextensions.CustomResourceDefinition, status *apiextensionsv1.CustomResourceDefinitionStatus) (dynamicstorage.Change, error) {
	var out apiextensions.CustomResourceDefinitionStatus
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinitionStatus_To_apiextensions_CustomResourceDefinitionStatus(status, &out, nil); err != nil {
		return dynamicstorage.Change{}, fmt.Errorf("converting the status of CustomResourceDefinition %s: %w", crd.Name, err)
	}
	crd.Status = out
	value, err := crds.EncodeDefinition(crd)
	return dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}, err
}

// decode returns both forms of a stored CRD: the one that is written back, and the one conditions are about.
func decode(entry *dynamicstorage.Entry) (*apiextensions.CustomResourceDefinition, *apiextensionsv1.CustomResourceDefinition, error) {
	internal, err := crds.DecodeDefinition(entry.Value, entry.Revision)
	if err != nil {
		return nil, nil, err
	}
	crd, err := crds.ToV1(internal)
	return internal, crd, err
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
