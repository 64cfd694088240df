package quota

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// store reads quotas.
type store struct {
	entries *dynamicstorage.Resource
	codec   *builtin.Codec
}

// list returns the quotas of a namespace. Without quotas it costs one lookup in memory if mode is Any.
func (s store) list(
	ctx context.Context, namespace string, mode dynamicstorage.ReadMode,
) ([]corev1.ResourceQuota, error) {
	snapshot, err := s.entries.Snapshot(ctx, dynamicstorage.ReadAt{Mode: mode})
	if err != nil {
		return nil, err
	}
	var quotas []corev1.ResourceQuota
	for entry, err := range snapshot.Ascend(ctx, namespace+"/", "") {
		if err != nil {
			return nil, err
		}
		quota, err := s.decode(entry)
		if err != nil {
			return nil, err
		}
		quotas = append(quotas, *quota)
	}
	return quotas, nil
}

func (s store) decode(entry *dynamicstorage.Entry) (*corev1.ResourceQuota, error) {
	obj, err := s.codec.Object(entry)
	if err != nil {
		return nil, fmt.Errorf("quota %s: %w", entry.Key, err)
	}
	return obj.(*corev1.ResourceQuota), nil
}
