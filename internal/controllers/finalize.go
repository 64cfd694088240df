package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// shown is how long a deleted CRD that others keep says that it is terminating, before it says that its objects
// are gone. Deleting no objects takes no time here; a client that waits for the condition must get to see it.
const shown = 2 * time.Second

// patience is how long objects may be left before a CRD says that something keeps them.
const patience = time.Minute

// finalize goes on with the deletion of a CRD: its objects first, then our finalizer, and with the last finalizer the
// CRD itself. Objects with finalizers of their own may take any time, so it never waits but asks to be called again.
func (l *Lifecycle) finalize(ctx context.Context, name string) error {
	record, ok := l.config.Table.Get(name)
	if !ok || !dying(record) {
		return nil
	}
	switch {
	case builtIn(record):
		return l.drop(ctx, record, terminated("OverlappingBuiltInResource", "instances overlap with built-in resources in storage"))
	case !record.Established:
		return l.drop(ctx, record, terminated("NeverEstablished", "resource was never established"))
	}
	if err := l.mark(ctx, record, terminating("InstanceDeletionInProgress", "CustomResource deletion is in progress")); err != nil {
		return err
	}
	remaining, err := l.config.DeleteInstances(ctx, record)
	switch {
	case errors.Is(err, dynamicstorage.ErrClosed):
		return errRetry // another replica was faster, and the CRD is gone
	case err != nil:
		return errors.Join(err, l.mark(ctx, record, deletionFailed(err)))
	case remaining > 0:
		return l.wait(ctx, record)
	case len(record.Finalizers) > 1 && l.justDeleted(record):
		return errRetry
	}
	l.remaining.Delete(name)
	// A create that was under way when the CRD was deleted may have come after the objects were listed.
	empty := l.config.Store.Resource(record.Group, record.Names.Plural).Empty()
	err = l.drop(ctx, record, terminated("InstanceDeletionCompleted", "removed all instances"), empty)
	if errors.Is(err, dynamicstorage.ErrCondition) {
		return errRetry
	}
	return err
}

// justDeleted says that the deletion may not have been shown for long enough. A clock that was set back does not make it wait.
func (l *Lifecycle) justDeleted(record *crds.Record) bool {
	return l.config.Clock.Now().Sub(record.DeletionTimestamp.Time).Abs() < shown
}

// builtIn says that the resource lies where the server keeps objects of its own, which are not to be deleted.
func builtIn(record *crds.Record) bool {
	switch record.Names.Plural + "." + record.Group {
	case "apiservices.apiregistration.k8s.io", crds.Plural + "." + crds.GroupName:
		return true
	}
	return false
}

func terminating(reason, message string) condition {
	return condition{Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: reason, Message: message}
}

func terminated(reason, message string) condition {
	return condition{Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionFalse, Reason: reason, Message: message}
}

func deletionFailed(err error) condition {
	var list *crds.ListError
	if errors.As(err, &list) {
		return terminating("InstanceDeletionFailed", fmt.Sprintf("could not list instances: %v", err))
	}
	return terminating("InstanceDeletionFailed", fmt.Sprintf("could not issue all deletes: %v", err))
}

// wait asks for another try, and after a while says so in the CRD.
func (l *Lifecycle) wait(ctx context.Context, record *crds.Record) error {
	now := l.config.Clock.Now()
	since, _ := l.remaining.LoadOrStore(record.Name, now)
	if now.Sub(since.(time.Time)) < patience {
		return errRetry
	}
	check := fmt.Sprintf("could not confirm zero CustomResources remaining: %v", context.DeadlineExceeded)
	if err := l.mark(ctx, record, terminating("InstanceDeletionCheck", check)); err != nil {
		return err
	}
	return errRetry
}

// mark writes a condition Terminating. That the deletion is in progress is no news once something is in its way.
func (l *Lifecycle) mark(ctx context.Context, record *crds.Record, c condition) error {
	return l.update(ctx, record, nil, func(stored *crds.Stored) (dynamicstorage.Change, error) {
		old := apihelpers.FindCRDCondition(stored.Outline, c.Type)
		stuck := old != nil && (old.Reason == "InstanceDeletionFailed" || old.Reason == "InstanceDeletionCheck")
		if apihelpers.IsCRDConditionEquivalent(old, &c) || stuck && c.Reason == "InstanceDeletionInProgress" {
			return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
		}
		return withStatus(stored, l.with(stored, c))
	})
}

// drop takes away our finalizer, and the CRD with it if that was the last one. Where others are left, the condition
// tells that the objects are gone. It does neither unless the conditions hold.
func (l *Lifecycle) drop(ctx context.Context, record *crds.Record, c condition, conditions ...dynamicstorage.Condition) error {
	return l.update(ctx, record, conditions, func(stored *crds.Stored) (dynamicstorage.Change, error) {
		others := func(finalizer string) bool { return finalizer != apiextensionsv1.CustomResourceCleanupFinalizer }
		if !slices.ContainsFunc(stored.Outline.Finalizers, others) {
			return dynamicstorage.Change{Op: dynamicstorage.Delete}, nil
		}
		whole, err := stored.Definition()
		if err != nil {
			return dynamicstorage.Change{}, err
		}
		crd := whole.DeepCopy()
		apiextensions.CRDRemoveFinalizer(crd, apiextensions.CustomResourceCleanupFinalizer)
		status := l.with(stored, c)
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinitionStatus_To_apiextensions_CustomResourceDefinitionStatus(status, &crd.Status, nil); err != nil {
			return dynamicstorage.Change{}, fmt.Errorf("converting the status of CustomResourceDefinition %s: %w", crd.Name, err)
		}
		value, err := crds.EncodeDefinition(crd)
		return dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}, err
	})
}

// with is the status of a stored CRD with another condition.
func (l *Lifecycle) with(stored *crds.Stored, c condition) *apiextensionsv1.CustomResourceDefinitionStatus {
	status := stored.Outline.Status.DeepCopy()
	setCondition(status, c, l.config.Clock.Now())
	return status
}

// update changes a CRD under conditions, as long as it is the one of the record and still waiting for us.
func (l *Lifecycle) update(ctx context.Context, record *crds.Record, conditions []dynamicstorage.Condition,
	change func(*crds.Stored) (dynamicstorage.Change, error)) error {
	_, err := l.definitions.Update(ctx, record.Name, func(_ context.Context, current *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		if current == nil {
			return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
		}
		stored, err := crds.Open(current)
		if err != nil {
			return dynamicstorage.Change{}, err
		}
		if stored.Outline.UID != record.UID || !apihelpers.CRDHasFinalizer(stored.Outline, apiextensionsv1.CustomResourceCleanupFinalizer) {
			return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
		}
		return change(stored)
	}, dynamicstorage.UpdateOptions{If: conditions})
	if err != nil {
		return fmt.Errorf("finalizing CustomResourceDefinition %s: %w", record.Name, err)
	}
	return nil
}
