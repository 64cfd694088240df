package crdhandler

import (
	"context"
	"fmt"

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
		left, err := scope.deleteInstance(ctx, entry.Key)
		if err != nil {
			return 0, fmt.Errorf("deleting instance %s of %s: %w", entry.Key, record.Name, err)
		}
		if left {
			remaining++
		}
	}
	return remaining, nil
}
