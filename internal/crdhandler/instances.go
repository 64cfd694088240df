package crdhandler

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// DeleteInstances deletes the custom resources of a CRD that is being deleted. It calls no admission, and respects
// finalizers (D5). It returns the number of objects that wait for their finalizers.
func (h *crdHandler) DeleteInstances(ctx context.Context, record *crds.Record) (remaining int, err error) {
	info, err := h.infos.of(record)
	if err != nil {
		return 0, err
	}
	scope := info.versions[info.storageVersion].main
	snapshot, err := scope.Objects.Resource.Snapshot(ctx, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if err != nil {
		return 0, &crds.ListError{Err: err}
	}
	for entry, err := range snapshot.Ascend(ctx, "", "") {
		if err != nil {
			return 0, &crds.ListError{Err: err}
		}
		left, err := deleteInstance(ctx, scope, entry.Key)
		if err != nil {
			return 0, fmt.Errorf("deleting instance %s of %s: %w", entry.Key, record.Name, err)
		}
		if left {
			remaining++
		}
	}
	return remaining, nil
}

// deleteInstance deletes an object of a CustomResourceDefinition that is being deleted, without asking admission.
// left says that the object waits for its finalizers.
func deleteInstance(ctx context.Context, s *requestScope, key string) (left bool, err error) {
	d := deletion{scope: s, key: key, options: &metav1.DeleteOptions{}, unconverted: true}
	res, err := d.run(ctx)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && !res.Removed, err
}
