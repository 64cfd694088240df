package crds

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

// minTerminating is how long a deleted CRD with other finalizers has the condition Terminating at least before the
// condition says that all custom resources are deleted. Without objects that takes no time, and a client may wait for
// the condition.
const minTerminating = 2 * time.Second

// remainingTimeout is how long custom resources may remain before the condition Terminating says so.
const remainingTimeout = time.Minute

// finalize continues the deletion of a CRD: first its custom resources, then our finalizer, and with the last finalizer
// the CRD itself. Custom resources may have finalizers of their own, so finalize does not wait for them but returns
// errRetry.
func (l *Lifecycle) finalize(ctx context.Context, name string) error {
	record, ok := l.config.Table.Get(name)
	if !ok || !needsFinalize(record) {
		return nil
	}
	switch {
	case builtIn(record):
		return l.removeFinalizer(ctx, record, terminated("OverlappingBuiltInResource",
			"instances overlap with built-in resources in storage"))
	case !record.Established:
		return l.removeFinalizer(ctx, record, terminated("NeverEstablished", "resource was never established"))
	}
	if err := l.mark(ctx, record, terminating("InstanceDeletionInProgress",
		"CustomResource deletion is in progress")); err != nil {
		return err
	}
	remaining, err := l.deleteInstances(ctx, record)
	switch {
	case errors.Is(err, dynamicstorage.ErrClosed):
		return errRetry // another replica has deleted the CRD
	case err != nil:
		return errors.Join(err, l.mark(ctx, record, deletionFailed(err)))
	case remaining > 0:
		return l.retryRemaining(ctx, record)
	case len(record.Finalizers) > 1 && l.justDeleted(record):
		return errRetry
	}
	l.remaining.Delete(name)
	// A create request that had begun before the CRD was deleted may have stored an object after the list.
	empty := l.config.Store.Resource(record.Group, record.Names.Plural).Empty()
	err = l.removeFinalizer(ctx, record, terminated("InstanceDeletionCompleted", "removed all instances"), empty)
	if errors.Is(err, dynamicstorage.ErrCondition) {
		return errRetry
	}
	return err
}

// justDeleted reports whether the CRD was deleted less than minTerminating ago. Abs is for a clock that was set back.
func (l *Lifecycle) justDeleted(record *crds.Record) bool {
	return l.config.Clock.Now().Sub(record.DeletionTimestamp.Time).Abs() < minTerminating
}

// builtIn reports whether the server stores objects of its own under the resource. They must not be deleted.
func builtIn(record *crds.Record) bool {
	return crds.HasBuiltInObjects(record.Group, record.Names.Plural)
}

func terminating(reason, message string) condition {
	return isTrue(apiextensionsv1.Terminating, reason, message)
}

func terminated(reason, message string) condition {
	return isFalse(apiextensionsv1.Terminating, reason, message)
}

func deletionFailed(err error) condition {
	var list *crds.ListError
	if errors.As(err, &list) {
		return terminating("InstanceDeletionFailed", fmt.Sprintf("could not list instances: %v", err))
	}
	return terminating("InstanceDeletionFailed", fmt.Sprintf("could not issue all deletes: %v", err))
}

// retryRemaining returns errRetry; after remainingTimeout it updates the condition first.
func (l *Lifecycle) retryRemaining(ctx context.Context, record *crds.Record) error {
	now := l.config.Clock.Now()
	since, _ := l.remaining.LoadOrStore(record.Name, now)
	if now.Sub(since.(time.Time)) < remainingTimeout {
		return errRetry
	}
	check := fmt.Sprintf("could not confirm zero CustomResources remaining: %v", context.DeadlineExceeded)
	if err := l.mark(ctx, record, terminating("InstanceDeletionCheck", check)); err != nil {
		return err
	}
	return errRetry
}

// mark writes a condition Terminating. InstanceDeletionInProgress does not replace the reason why the deletion is
// stuck.
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

// removeFinalizer removes our finalizer, or deletes the CRD if there is no other. If there is, it writes the condition
// c as well. The write fails unless the conditions hold.
func (l *Lifecycle) removeFinalizer(
	ctx context.Context, record *crds.Record, c condition, conditions ...dynamicstorage.Condition,
) error {
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
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinitionStatus_To_apiextensions_CustomResourceDefinitionStatus(
			status, &crd.Status, nil); err != nil {
			return dynamicstorage.Change{}, fmt.Errorf("converting the status of CustomResourceDefinition %s: %w", crd.Name, err)
		}
		value, err := crds.EncodeDefinition(crd)
		return dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}, err
	})
}

// with returns the status of a stored CRD with the condition c.
func (l *Lifecycle) with(stored *crds.Stored, c condition) *apiextensionsv1.CustomResourceDefinitionStatus {
	status := stored.Outline.Status.DeepCopy()
	setCondition(status, c, l.config.Clock.Now())
	return status
}

// update changes a CRD if it is still the one of the record, has our finalizer, and the conditions hold.
func (l *Lifecycle) update(ctx context.Context, record *crds.Record, conditions []dynamicstorage.Condition,
	change func(*crds.Stored) (dynamicstorage.Change, error)) error {
	_, err := l.definitions.Update(ctx, record.Name,
		func(_ context.Context, current *dynamicstorage.Entry) (dynamicstorage.Change, error) {
			if current == nil {
				return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
			}
			stored, err := crds.Open(current)
			if err != nil {
				return dynamicstorage.Change{}, err
			}
			if stored.Outline.UID != record.UID || !apihelpers.CRDHasFinalizer(stored.Outline,
				apiextensionsv1.CustomResourceCleanupFinalizer) {
				return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
			}
			return change(stored)
		}, dynamicstorage.UpdateOptions{If: conditions})
	if err != nil {
		return fmt.Errorf("finalizing CustomResourceDefinition %s: %w", record.Name, err)
	}
	return nil
}
